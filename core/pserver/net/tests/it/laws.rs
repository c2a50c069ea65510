//! What holds for the exchange over any network.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_pserver::{Link, ModelExchange, ServerState};

use crate::support::{PROGRAM, hello, model, names, report};

/// Folds until a condition holds.
pub(crate) fn wait_for(state: &ServerState, what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        state.fold();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What two instances add comes back merged, and the server ends with them.
pub(crate) fn check_merging<E: ModelExchange>(state: &Arc<ServerState>, [one, other]: &mut [E; 2]) {
    one.register(&hello(0)).expect("the rank is free");
    other.register(&hello(1)).expect("the rank is free");
    let fids = one.functions(PROGRAM, &names(&["f", "g"])).expect("short");
    assert_eq!(other.functions(PROGRAM, &names(&["g"])), Ok(vec![fids[1]]));
    let values: Vec<u64> = (0..3000).map(|i| i * i).collect();
    let deltas = vec![(fids[0], model(&[1])), (fids[1], model(&values))];
    one.sync_and_report(deltas, &[report(0, 0, fids[1], &values)])
        .expect("the server is there");
    let mut whole = model(&values);
    whole.extend(&[77]);
    let mut deltas = vec![(fids[1], model(&[77]))];
    wait_for(state, "both instances are in the models", || {
        let synced = other.sync_and_report(std::mem::take(&mut deltas), &[]);
        assert_eq!(synced.expect("the server is there").link, Link::Up);
        let asked = vec![(fids[1], model(&[]))];
        let synced = other.sync_and_report(asked, &[]);
        let synced = synced.expect("the server is there");
        synced.models[0].1.distribution() == whole.distribution()
    });
    one.goodbye().expect("the server is there");
    other.goodbye().expect("the server is there");
    assert!(state.is_abandoned(0));
    assert_eq!(state.documents().func_stats[0].fid, fids[1].0);
}

/// Models that no message has space for travel in parts, both ways.
pub(crate) fn check_large_models<E: ModelExchange>(
    state: &Arc<ServerState>,
    [one, other]: &mut [E; 2],
) {
    one.register(&hello(0)).expect("the rank is free");
    let many: Vec<String> = (0..3000).map(|i| format!("function {i}")).collect();
    let fids = one.functions(PROGRAM, &many).expect("short");
    let values: Vec<u64> = (0..400).map(|i| 1 << (i % 60)).chain(0..300).collect();
    let deltas = fids.iter().map(|&fid| (fid, model(&values))).collect();
    let synced = one
        .sync_and_report(deltas, &[])
        .expect("the server is there");
    assert_eq!(synced.link, Link::Up);
    other.register(&hello(1)).expect("the rank is free");
    other.functions(PROGRAM, &many).expect("short");
    wait_for(state, "all models have arrived", || {
        let asked = fids.iter().map(|&fid| (fid, model(&[]))).collect();
        let synced = other.sync_and_report(asked, &[]);
        let models = synced.expect("the server is there").models;
        let counts = models.iter().map(|it| it.1.moments().count());
        counts.eq(vec![values.len() as u64; 3000])
    });
}
