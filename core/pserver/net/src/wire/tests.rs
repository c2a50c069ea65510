//! Messages survive a round trip, and invalid input is refused without harm.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_detect::{Algorithm, CallerKey, FuncModel, Moments, Params, RecentPValues};
use callgrove_incidents::{MessageEntry, OwnTimeEntry, StallEntry, StallSummary};
use callgrove_model::{
    CommKind, DurationNs, ExecLabel, FuncId, ProgramId, RankId, StepId, ThreadId, TimeNs,
};
use callgrove_pserver::{
    AnomalySummary, Contribution, CounterReport, Cursor, FunctionReport, PartNumber, PserverError,
    Registered, StepReport, SumOrigin, SyncRequest, TreePValues, Welcome,
};
use callgrove_trends::TimeWindow;
use proptest::prelude::*;
use prost::Message;
use prost::bytes::Bytes;

use super::{
    LogEntry, block_from_wire, entry_from_wire, part_to_wire, proto, registered_from_wire,
    registered_to_wire, reply_from_wire, request_from_wire, request_to_wire,
};

fn moments(values: &[u64]) -> Moments {
    let mut moments = Moments::default();
    moments.extend_from(values);
    moments
}

fn model(values: &[u64], algorithm: Algorithm) -> FuncModel {
    let params = Params {
        algorithm,
        ..Params::default()
    };
    let mut model = FuncModel::new(&params.check().expect("the parameters are valid"));
    for value in values {
        model.extend_in(StepId(values.len() as u32), CallerKey(value % 5), &[*value]);
    }
    model.raise_threshold(values.len() as f64);
    model
}

fn request(values: &[u64], algorithm: Algorithm) -> SyncRequest {
    let mut anomalies = AnomalySummary::default();
    for &value in values.iter().take(3) {
        anomalies.push(value as f64, value as f64, value, value.saturating_add(9));
    }
    let report = StepReport {
        program: ProgramId(1),
        rank: RankId(2),
        step: StepId(values.len() as u32),
        functions: vec![FunctionReport {
            fid: FuncId(7),
            exclusive: moments(values),
            inclusive: moments(values),
            anomalies,
        }],
        counters: vec![CounterReport {
            name: String::from("PAPI_TOT_INS"),
            values: moments(values),
        }],
        stall_summary: stall_summary(values),
        tree_p_values: tree_p_values(values),
    };
    SyncRequest {
        instance: String::from("node7:123"),
        epoch: u64::MAX,
        part: PartNumber {
            sequence: 5,
            index: 2,
            num_left: 3,
        },
        cursor: Cursor {
            version: 1 << 40,
            fid: FuncId(u32::MAX),
        },
        contribution: Arc::new(Contribution::new(
            vec![(FuncId(7), model(values, algorithm))],
            &[report],
        )),
        tree_generation: 9,
    }
}

/// Returns the p-values of one tree for each value.
fn tree_p_values(values: &[u64]) -> TreePValues {
    let mut recent = RecentPValues::default();
    for &value in values {
        recent.is_discovery(-(value as f64) / 2_f64.powi(50), 0.1);
    }
    TreePValues::from([(String::from("MD::step"), recent)])
}

/// Returns a stalled execution and a message for each value.
fn stall_summary(values: &[u64]) -> StallSummary {
    let label = |row| ExecLabel {
        rank: RankId(2),
        step: StepId(4),
        row,
    };
    let stall = |(row, &value): (u32, &u64)| StallEntry {
        label: label(row),
        fid: FuncId(7),
        thread: ThreadId(1),
        from_us: value,
        to_us: value.saturating_add(8),
        is_anomaly: row % 2 == 0,
        entry_us: value / 2,
        exit_us: value.saturating_add(9),
    };
    let message = |(row, &value): (u32, &u64)| MessageEntry {
        kind: if row % 2 == 0 {
            CommKind::Send
        } else {
            CommKind::Recv
        },
        partner: RankId(row),
        tag: value,
        number: u64::from(row),
        time_us: value,
        call: (row % 3 > 0).then(|| label(row)),
        called_us: value,
        thread: ThreadId(row),
    };
    let own_time = |(fid, &value): (u32, &u64)| OwnTimeEntry {
        fid: FuncId(fid),
        caller: (fid % 2 == 0).then_some(FuncId(7)),
        window: TimeWindow {
            start: TimeNs(i64::from(fid)),
            num_calls: value,
            usual: DurationNs(5),
            total: DurationNs(i64::from(fid) * 9),
        },
    };
    StallSummary {
        stalls: (0..).zip(values).map(stall).collect(),
        messages: (0..).zip(values).map(message).collect(),
        own_times: (0..).zip(values).map(own_time).collect(),
        host: "nid00001".to_owned(),
    }
}

/// Decodes arbitrary bytes, and uses the result as the server and the client would.
fn receive(bytes: &[u8]) {
    if let Ok(message) = proto::SyncRequest::decode(bytes)
        && let Ok(request) = request_from_wire(message)
    {
        let mut sum = Contribution::clone(&request.contribution);
        sum.merge(Contribution::clone(&request.contribution));
        for part in sum.into_parts(100) {
            for (_, model) in part.models {
                assert!(model.moments().parts().iter().all(|part| part.is_finite()));
            }
        }
    }
    if let Ok(message) = proto::SyncReply::decode(bytes) {
        match reply_from_wire(message) {
            Ok(reply) => assert!(reply.models.len() <= bytes.len()),
            Err(error) => assert!(matches!(error, PserverError::Damaged { .. })),
        }
    }
    let copy = || Bytes::copy_from_slice(bytes);
    let refusals = [entry_from_wire(copy()).err(), block_from_wire(copy()).err()];
    for error in refusals.into_iter().flatten() {
        assert!(matches!(error, PserverError::Damaged { .. }), "{error}");
    }
}

/// Returns the log's entry of a request's contribution, as the sum of a group.
fn entry(request: &SyncRequest, sum: &SumOrigin) -> Vec<u8> {
    let name = |_| Some((ProgramId(1), "f"));
    let contribution = &request.contribution;
    part_to_wire(
        &request.instance,
        request.part,
        contribution,
        Some(sum),
        name,
    )
}

fn sum_origin(after: u64) -> SumOrigin {
    SumOrigin {
        group: 2,
        log: "a log".to_owned(),
        after,
        members: vec![("one".to_owned(), after), ("other".to_owned(), 0)],
    }
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(Algorithm::ALL.to_vec())
}

proptest! {
    #[test]
    fn requests_arrive_as_they_were_sent(
        values in prop::collection::vec(0_u64..1 << 53, 0..400),
        algorithm in algorithm(),
    ) {
        let sent = request(&values, algorithm);
        let origin = sum_origin(values.len() as u64);
        let bytes = request_to_wire(sent.clone()).encode_to_vec();
        let message = proto::SyncRequest::decode(&*bytes).expect("it was encoded");
        prop_assert_eq!(request_from_wire(message), Ok(sent.clone()));
        let Ok(LogEntry::Part(part)) = entry_from_wire(entry(&sent, &origin).into()) else {
            panic!("it is a part");
        };
        prop_assert_eq!((part.instance, part.number), (sent.instance, sent.part));
        prop_assert_eq!(part.sum, Some(origin));
        prop_assert_eq!(&part.contribution, &*sent.contribution);
        let named: BTreeSet<FuncId> = part.functions.iter().map(|it| it.0).collect();
        prop_assert_eq!(named, sent.contribution.fids().collect());
    }

    #[test]
    fn a_welcome_brings_the_p_values_of_trees(values in prop::collection::vec(0_u64..1 << 54, 0..400)) {
        let ranks = (0..3).map(|rank| (RankId(rank), tree_p_values(&values)));
        let sent = Registered {
            welcome: Welcome {
                tree_p_values: ranks.collect(),
                ..Welcome::default()
            },
            ..Registered::default()
        };
        let message = registered_to_wire(sent.clone()).expect("all numbers are finite");
        let bytes = message.encode_to_vec();
        let message = proto::RegisterReply::decode(&*bytes).expect("it was encoded");
        prop_assert_eq!(registered_from_wire(&message), Ok(sent));
    }

    #[test]
    fn models_are_written_as_their_message_is(
        values in prop::collection::vec(0_u64..1 << 53, 0..400),
        algorithm in algorithm(),
    ) {
        let bytes = message(&model(&values, algorithm));
        let read = proto::Model::decode(&*bytes).expect("it was encoded");
        prop_assert_eq!(read.fid, 3);
        prop_assert_eq!(read.encode_to_vec(), bytes);
    }

    #[test]
    fn any_bytes_are_taken_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        receive(&bytes);
    }

    #[test]
    fn damaged_requests_are_taken_without_harm(
        values in prop::collection::vec(any::<u64>(), 0..40),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let request = request(&values, Algorithm::Hbos);
        for mut bytes in [entry(&request, &sum_origin(7)), request_to_wire(request).encode_to_vec()] {
            for (place, byte) in &damages {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            receive(&bytes);
        }
    }

    #[test]
    fn parts_are_the_whole(
        values in prop::collection::vec(0_u64..1 << 40, 1..300),
        max_bytes in 1_usize..20_000,
    ) {
        let models: Vec<_> = (0..values.len() as u32 % 40)
            .map(|fid| (FuncId(fid), model(&values[fid as usize..], Algorithm::Hbos)))
            .collect();
        let whole = Contribution {
            models: models.into_iter().collect(),
            ..Arc::unwrap_or_clone(request(&values, Algorithm::Hbos).contribution)
        };
        let parts = whole.clone().into_parts(max_bytes);
        let mut sum = Contribution::default();
        for part in parts {
            let num_models = part.models.len();
            let message = request_to_wire(SyncRequest { contribution: Arc::new(part.clone()), ..request(&[], Algorithm::Hbos) });
            // A single model may exceed the size of a part.
            prop_assert!(num_models <= 1 || message.encoded_len() <= max_bytes + 200);
            sum.merge(part);
        }
        prop_assert_eq!(sum, whole);
    }
}

#[test]
fn impossible_statistics_are_refused() {
    let good = request_to_wire(request(&[5, 6, 70], Algorithm::Hbos));
    let damage = |damage: &dyn Fn(&mut proto::Contribution)| {
        let mut message = good.clone();
        damage(message.contribution.as_mut().expect("it has one"));
        request_from_wire(message).expect_err("it is damaged")
    };
    let beyond = [[0xff; 9].as_slice(), &[0x01, 0x01]].concat();
    let changes: [&dyn Fn(&mut proto::Contribution); 14] = [
        &|it| it.models.push(it.models[0].clone()),
        &|it| change_model(it, |it| it.internal_global_threshold = f64::NAN),
        &|it| change_model(it, |it| it.internal_global_threshold = 1e31),
        &|it| change_moments(it, |it| it.count = 4),
        &|it| change_moments(it, |it| it.maximum = f64::INFINITY),
        // A mean beyond the largest value, and an invalid number of words of a sum.
        &|it| change_moments(it, |it| it.sums[2] = 1),
        &|it| change_moments(it, |it| it.sums[9] = 6),
        &|it| change_moments(it, |it| it.sums[9] = 0xff),
        &|it| change_moments(it, |it| it.sums.push(0)),
        &|it| change_moments(it, |it| it.sums.truncate(1)),
        &|it| {
            change_moments(it, |moments| {
                moments.sums.clear();
                (moments.mean, moments.m4) = (10.0, -1.0);
            });
        },
        &|it| {
            let exclusive = it.functions[0].exclusive.as_mut();
            let exclusive = exclusive.expect("there are some");
            exclusive.sums.clear();
            exclusive.m2 = 1e300;
        },
        &|it| add_bins(it, &beyond),
        &|it| add_bins(it, &[0xff]),
    ];
    for change in changes {
        let error = damage(change);
        assert!(matches!(error, PserverError::Damaged { .. }), "{error}");
    }
}

#[test]
fn impossible_contexts_are_refused() {
    let good = request_to_wire(request(&[5, 6, 70], Algorithm::Excess));
    let changes: [&dyn Fn(&mut proto::Model); 3] = [
        &|it| it.histogram = Some(proto::Histogram::default()),
        &|it| {
            let parts = &mut it.contexts.as_mut().expect("it has some").parts;
            parts.push(parts[0].clone());
        },
        &|it| it.contexts.as_mut().expect("it has some").parts[0].histogram = None,
    ];
    for change in changes {
        let mut message = good.clone();
        change_model(message.contribution.as_mut().expect("it has one"), change);
        let error = request_from_wire(message).expect_err("it is damaged");
        assert!(matches!(error, PserverError::Damaged { .. }), "{error}");
    }
}

fn change_model(contribution: &mut proto::Contribution, change: impl FnOnce(&mut proto::Model)) {
    let place = &mut contribution.models[0];
    let mut model = proto::Model::decode(place.clone()).expect("it was encoded");
    change(&mut model);
    *place = model.encode_to_vec().into();
}

fn change_moments(
    contribution: &mut proto::Contribution,
    change: impl FnOnce(&mut proto::Moments),
) {
    change_model(contribution, |model| {
        change(model.moments.as_mut().expect("it has some"));
    });
}

fn add_bins(contribution: &mut proto::Contribution, bytes: &[u8]) {
    change_model(contribution, |model| {
        let histogram = model.histogram.as_mut();
        histogram.expect("HBOS has one").bins.extend(bytes);
    });
}

/// Returns the encoded message of a model.
fn message(model: &FuncModel) -> Vec<u8> {
    let mut bytes = Vec::new();
    super::put_model(&mut bytes, FuncId(3), model);
    bytes
}

#[test]
fn fields_of_later_releases_are_skipped() {
    let whole = model(&[5, 6, 70], Algorithm::Excess);
    let read = |added: &[u8]| super::model_from_wire(&[&*message(&whole), added].concat());
    // A varint, a 64-bit value, bytes and a 32-bit value, all as field 15.
    for added in [
        [0x78, 0x80, 0x01].as_slice(),
        &[0x79, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x7a, 2, 0xff, 0xff],
        &[0x7d, 1, 2, 3, 4],
    ] {
        assert_eq!(read(added), Ok((FuncId(3), whole.clone())), "{added:?}");
        assert!(read(&added[..added.len() - 1]).is_err(), "{added:?}");
    }
    // An unknown wire type, and a threshold that is an integer.
    for added in [[0x7b, 0x7c].as_slice(), &[0x20, 0x01]] {
        assert!(read(added).is_err(), "{added:?}");
    }
}

#[test]
fn a_model_of_two_hundred_bins_takes_little_on_the_wire() {
    // Times around 1 ms with a long tail and high counts, like the model of a busy function.
    let values: Vec<u64> = (0..20_000_u64)
        .map(|i| 900 + (i * 7919) % 997 + (i % 400 / 399) * i)
        .collect();
    let whole = model(&values, Algorithm::Hbos);
    let bytes = message(&whole);
    let num_bins = whole
        .histogram()
        .map_or(0, |histogram| histogram.bins().len());
    assert!(num_bins > 100, "{num_bins}");
    assert!(bytes.len() < 100 + 4 * num_bins, "{}", bytes.len());
    assert_eq!(super::model_from_wire(&bytes), Ok((FuncId(3), whole)));
}
