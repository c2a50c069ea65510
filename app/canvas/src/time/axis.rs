//! Ticks at round times, since the start of the run and in UTC.

use callgrove_model::TimeNs;

use super::window::Window;
use crate::round_step::round_step;

/// A tick of the axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tick {
    pub(crate) time: TimeNs,
    /// Time since the origin.
    pub(crate) text: String,
    /// Time of the day in UTC.
    pub(crate) utc: String,
}

/// Returns ticks at round times since `origin`, at least `spacing` (a fraction of the window) apart.
pub(super) fn ticks(window: Window, origin: TimeNs, spacing: f64) -> Vec<Tick> {
    let step_ns = round_step((window.length_ns() as f64 * spacing).max(1.0)) as i64;
    let (first_ns, last_ns) = (window.from.since(origin).0, window.to.since(origin).0);
    let unit = Unit::of(first_ns.saturating_abs().max(last_ns.saturating_abs()));
    let (first, last) = (
        -(-first_ns).div_euclid(step_ns),
        last_ns.div_euclid(step_ns),
    );
    (first..=last)
        .map(|number| {
            let offset_ns = number * step_ns;
            Tick {
                time: TimeNs(origin.0 + offset_ns),
                text: unit.write(offset_ns, step_ns),
                utc: utc_clock(TimeNs(origin.0 + offset_ns), step_ns),
            }
        })
        .collect()
}

/// Formats a time relative to `origin`, with the precision of a pixel of `pixel_ns`.
pub fn relative_time(time: TimeNs, origin: TimeNs, pixel_ns: f64) -> String {
    let offset_ns = time.since(origin).0;
    let step_ns = step_of_pixel(pixel_ns);
    let rounded_ns = (offset_ns as f64 / step_ns as f64).round() as i64 * step_ns;
    Unit::of(offset_ns.saturating_abs()).write(rounded_ns, step_ns)
}

/// Formats the time of the day in UTC, with the decimals that multiples of `step_ns` need: `19:05:04.123`.
pub fn utc_clock(time: TimeNs, step_ns: i64) -> String {
    const DAY_NS: i64 = 86_400_000_000_000;
    let in_day_ns = time.0.rem_euclid(DAY_NS);
    let seconds = in_day_ns / 1_000_000_000;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let decimals = match step_ns {
        1_000_000_000.. => 0,
        1_000_000.. => 3,
        1_000.. => 6,
        _ => 9,
    };
    let fraction = format!("{:09}", in_day_ns % 1_000_000_000);
    let dot = if decimals == 0 { "" } else { "." };
    format!(
        "{hour:02}:{minute:02}:{second:02}{dot}{}",
        &fraction[..decimals]
    )
}

/// Returns the largest power of ten, in nanoseconds, that is at most a pixel; at least 1.
pub(crate) fn step_of_pixel(pixel_ns: f64) -> i64 {
    let mut step_ns = 1;
    while step_ns as f64 * 10.0 <= pixel_ns {
        step_ns *= 10;
    }
    step_ns
}

/// A unit of time that keeps numbers short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Unit {
    name: &'static str,
    size_ns: i64,
}

impl Unit {
    fn of(largest_ns: i64) -> Self {
        let (name, size_ns) = match largest_ns {
            ..1_000 => ("ns", 1),
            1_000..1_000_000 => ("µs", 1_000),
            1_000_000..1_000_000_000 => ("ms", 1_000_000),
            _ => ("s", 1_000_000_000),
        };
        Self { name, size_ns }
    }

    /// Formats a time with the decimals that multiples of `step_ns` need.
    fn write(self, offset_ns: i64, step_ns: i64) -> String {
        let mut decimals = 0;
        let mut scale = 1;
        while decimals < 9 && step_ns.saturating_mul(scale) % self.size_ns != 0 {
            decimals += 1;
            scale *= 10;
        }
        let value = offset_ns.saturating_abs() as f64 / self.size_ns as f64;
        let sign = if offset_ns < 0 { "−" } else { "" };
        format!("{sign}{value:.decimals$} {}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(from: i64, to: i64, spacing: f64) -> Vec<String> {
        let window = Window {
            from: TimeNs(1_000 + from),
            to: TimeNs(1_000 + to),
        };
        ticks(window, TimeNs(1_000), spacing)
            .into_iter()
            .map(|tick| tick.text)
            .collect()
    }

    #[test]
    fn ticks_are_round_and_in_the_unit_of_the_window() {
        assert_eq!(
            texts(-4_000_000, 44_000_000, 0.2),
            ["0 ms", "10 ms", "20 ms", "30 ms", "40 ms"]
        );
        assert_eq!(
            texts(-250, 600, 0.2),
            ["−200 ns", "0 ns", "200 ns", "400 ns", "600 ns"]
        );
        assert_eq!(
            texts(0, 2_500_000_000, 0.15),
            ["0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s", "2.5 s"]
        );
    }

    #[test]
    fn deep_inside_a_long_tree_the_decimals_grow() {
        assert_eq!(
            texts(509_000_000, 509_020_000, 0.4),
            ["509.00 ms", "509.01 ms", "509.02 ms"]
        );
    }

    #[test]
    fn ticks_are_never_closer_than_asked() {
        for length_ns in [1_000, 1_234, 98_765, 10_000_000_000] {
            let window = Window {
                from: TimeNs(7),
                to: TimeNs(7 + length_ns),
            };
            for pair in ticks(window, TimeNs(0), 0.1).windows(2) {
                assert!(pair[1].time.since(pair[0].time).0 * 10 >= length_ns);
            }
        }
    }

    #[test]
    fn ticks_show_the_time_of_day_with_the_precision_of_their_step() {
        let start = TimeNs(1_795_231_715_000_000_000);
        let window = |length_ns| Window {
            from: start,
            to: TimeNs(start.0 + length_ns),
        };
        let utc = |length_ns| ticks(window(length_ns), start, 0.4)[1].utc.clone();
        assert_eq!(utc(10_000_000_000), "03:28:40");
        assert_eq!(utc(50_000_000), "03:28:35.020");
        assert_eq!(utc(5_000), "03:28:35.000002");
    }

    #[test]
    fn a_time_is_written_with_the_precision_of_a_pixel() {
        let shown =
            |offset: i64, pixel_ns| relative_time(TimeNs(50 + offset), TimeNs(50), pixel_ns);
        assert_eq!(shown(1_234_567, 1.0), "1.234567 ms");
        assert_eq!(shown(1_234_567, 5_000.0), "1.235 ms");
        assert_eq!(shown(-1_500, 1.0), "−1.500 µs");
    }
}
