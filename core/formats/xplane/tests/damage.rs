//! Damage never ends the work: what is whole is read, and memory stays bounded by the file.

mod support;

use callgrove_model::{Trace, WarningKind};
use proptest::prelude::*;
use support::{PlaneMessage, SMALL_PLANES, START_NS, read_planes, small_planes};

/// Checks what holds for any bytes: there are no more calls than the file has bytes.
fn check(bytes: &[u8]) -> Option<Trace> {
    match read_planes(&[("a.xplane.pb", bytes)]) {
        Ok(trace) => {
            assert!(trace.num_executions() <= bytes.len());
            assert_eq!(trace.warnings.total(WarningKind::TimeWentBack), 0);
            Some(trace)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

#[test]
fn a_file_that_ends_anywhere_is_read_up_to_there() {
    let file = small_planes().bytes;
    let mut num_before = 0;
    for end in 0..=file.len() {
        let num = check(&file[..end]).map_or(0, |it| it.num_executions());
        assert!(num >= num_before, "{end}");
        num_before = num;
    }
    assert_eq!(num_before, SMALL_PLANES.len());
}

#[test]
fn a_damaged_event_line_or_plane_leaves_the_others() {
    let mut file = PlaneMessage::default();
    file.plane("/host:CPU", |plane| {
        plane.line((1, "a"), 0, |line| {
            line.event(1, (0, 1_000), &[]);
            line.data(4, [0x08]).event(1, (2_000, 1_000), &[]);
        });
        plane.line((2, "b"), 0, |line| {
            line.event(1, (0, 1_000), &[]);
            line.bytes.extend([0x22, 0x70, 1, 2, 3]);
        });
        plane.line((3, "c"), 0, |line| {
            line.event(1, (0, 1_000), &[]);
        });
        plane.entry(4, 1, "work");
        plane.bytes.extend([0x00, 1, 2]);
    });
    file.plane("/device:GPU:0", |plane| {
        plane.line((1, "s"), 0, |line| {
            line.event(1, (0, 1_000), &[]);
        });
        plane.entry(4, 1, "work");
    });
    file.environment(START_NS);
    let trace = read_planes(&[("a.pb", &file.bytes)]).unwrap();
    assert_eq!(trace.num_executions(), 5);
    assert_eq!(trace.warnings.total(WarningKind::BadRow), 3);
}

#[test]
fn numbers_at_the_limits_are_read() {
    let limits = [
        0,
        1,
        i64::MAX.cast_unsigned(),
        i64::MIN.cast_unsigned(),
        u64::MAX,
    ];
    for start_ns in limits {
        let mut file = PlaneMessage::default();
        file.plane("/host:CPU", |plane| {
            plane.line((1, "a"), start_ns, |line| {
                for offset_ps in limits {
                    for duration_ps in limits {
                        line.event(1, (offset_ps, duration_ps), &[(1, offset_ps)]);
                    }
                }
            });
            plane
                .entry(4, 1, "work 18446744073709551615")
                .entry(5, 1, "step_num");
        });
        file.environment(start_ns);
        assert!(check(&file.bytes).is_some());
    }
}

proptest! {
    #[test]
    fn any_change_of_bytes_is_survived(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut file = small_planes().bytes;
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        check(&file);
    }

    #[test]
    fn any_bytes_in_a_plane_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = PlaneMessage::default();
        file.plane("/host:CPU", |plane| plane.bytes.extend(bytes));
        check(&file.bytes);
    }
}
