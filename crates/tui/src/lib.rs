//! The live view of tasks, without a terminal and without a clock.
//!
//! [`layout`] decides what is shown in the rows and columns of a screen, [`Painter`] turns each frame
//! into few bytes, [`Pace`] decides when to draw, and [`Keys`] and [`Controls`] turn typed bytes into
//! commands.

mod controls;
mod fit;
mod keys;
mod layout;
mod pace;
mod painter;
mod style;
#[cfg(test)]
mod testing;

pub use controls::{Command, Controls, Ownership};
pub use keys::{Key, Keys};
pub use layout::{Layout, Scene, Size, layout};
pub use pace::Pace;
pub use painter::Painter;
pub use style::{CLOSE, OPEN, styled};
