//! The live view: what a screen shows of tasks, which bytes bring it there, and what keys mean.
//!
//! Nothing here reads or writes a terminal or a clock. [`layout`] decides what is shown in so many
//! rows and columns, [`Painter`] turns one frame after the other into as few bytes as it can, [`Pace`]
//! decides when there is a frame, and [`Keys`] and [`Controls`] turn what was typed into commands.

mod controls;
mod fit;
mod keys;
mod layout;
mod pace;
mod painter;
mod style;
#[cfg(test)]
mod testing;

pub use controls::{Command, Controls, Seat};
pub use keys::{Key, Keys};
pub use layout::{Layout, Scene, Size, layout};
pub use pace::Pace;
pub use painter::Painter;
pub use style::{CLOSE, OPEN, styled};
