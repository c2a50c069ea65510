//! Drawing areas that several views share: points on a plane ([`points`]), ranks over time ([`time`]).

pub mod points;
mod round_step;
pub mod time;
