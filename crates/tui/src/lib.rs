//! The live view of tasks, without a terminal and without a clock.
//!
//! [`layout`] decides what is shown in the rows and columns of a screen, [`Painter`] turns each frame
//! into few bytes, [`Pace`] decides when to draw, [`Keys`] and [`Controls`] turn typed bytes into
//! commands, and [`ending`] is what stays.

mod clipboard;
mod controls;
mod ending;
mod fit;
mod keys;
mod layout;
mod markdown;
mod pace;
mod painter;
mod reader;
mod style;
mod syntax;
mod table;
#[cfg(test)]
mod testing;

pub use clipboard::copy;
pub use controls::{Command, Controls, Ownership};
pub use ending::ending;
pub use fit::fit;
pub use keys::{Key, Keys};
pub use layout::{Scene, Size, layout};
pub use pace::Pace;
pub use painter::Painter;
pub use reader::whole;
pub use style::{CLOSE, OPEN, Palette, styled};
