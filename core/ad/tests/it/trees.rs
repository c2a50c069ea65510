//! Call stack trees: built when their roots end, judged by the models in force, and recorded.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::support::{MemoryStore, Script, options};
use callgrove_ad::{AdOptions, Instance, Status};
use callgrove_detect::{Params, TreeJudge, TreeModelReader, TreeVerdict};
use callgrove_model::{DifferenceKind, Forest, FunctionPattern, Reason, TreeIdx};
use callgrove_provdb::{Collection::Trees, MAX_RECORDED_REASONS, Store, TreeRecord};
use callgrove_pserver::{ModelPublication, PserverError, ServerState, StateOptions};
use serde_json::Value;

/// A judge that calls trees of the named functions abnormal if they take longer than a limit in µs: `f,g 300`. A
/// negative limit, `f,g -300`, means that it was trained on other trees. In a stream, a tree that is at most 100 µs
/// longer is abnormal only after other abnormal trees.
#[derive(Debug)]
struct LongerThan {
    functions: Vec<String>,
    limit_us: i64,
    /// True if its training had no such tree.
    is_foreign: bool,
    /// True if it judges nothing.
    fails: bool,
}

#[derive(Debug)]
struct Reader;

impl TreeModelReader for Reader {
    fn read(&self, bytes: &[u8]) -> Result<Arc<dyn TreeJudge>, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let (functions, limit) = text.split_once(' ').ok_or("there is no limit in it")?;
        let limit_us: i64 = limit.parse().unwrap_or_default();
        Ok(Arc::new(LongerThan {
            functions: functions.split(',').map(str::to_owned).collect(),
            limit_us: limit_us.abs(),
            is_foreign: limit_us < 0,
            fails: limit == "fails",
        }))
    }
}

impl TreeJudge for LongerThan {
    fn functions(&self) -> &[String] {
        &self.functions
    }

    fn programs(&self) -> &[String] {
        &[]
    }

    fn judge(&self, forest: &Forest) -> Result<Vec<TreeVerdict>, String> {
        if self.fails {
            return Err("a feature is not a number".to_owned());
        }
        let verdict = |tree| {
            let beyond = forest.tree(TreeIdx::from_index(tree)).duration().as_us() - self.limit_us;
            TreeVerdict {
                score: -(beyond as f64),
                p_value: if beyond > 0 { 0.001 } else { 0.5 },
                decision_ln_p: match beyond {
                    ..=0 => -0.5,
                    1..=100 => 1.5e-4_f64.ln(),
                    _ => -50.0,
                },
                is_abnormal: beyond > 0,
                unseen_time_share: 0.0,
                is_new_structure: false,
                is_unlike_training: self.is_foreign,
            }
        };
        Ok((0..forest.len()).map(verdict).collect())
    }

    fn reasons(&self, forest: &Forest) -> Result<Vec<Vec<Reason>>, String> {
        let reason = |tree| {
            let tree = forest.tree(TreeIdx::from_index(tree));
            let name = forest.trace().names.name(tree.funcs()[0]).to_owned();
            let taken_us = tree.duration().as_us();
            let reason = Reason {
                kind: DifferenceKind::Longer,
                path: vec![name.clone()],
                function: name,
                excess_us: (taken_us - self.limit_us) as f64,
                count: 1,
                usual_count: 1,
                usual_us: self.limit_us as f64,
                share: 1.0,
                unit: forest.unit().clone(),
            };
            vec![reason; 20]
        };
        Ok((0..forest.len()).map(reason).collect())
    }
}

fn of(name: &str, model: &str) -> ModelPublication {
    ModelPublication {
        name: name.to_owned(),
        model: model.to_owned(),
        note: String::new(),
        by: String::new(),
    }
}

fn watching(sampled: &[&str]) -> AdOptions {
    let mut options = options(Params::default());
    options.trees.reader = Some(Arc::new(Reader));
    let patterns = sampled.iter().map(|name| FunctionPattern::new(name));
    options.trees.sampled = patterns.collect();
    options
}

fn server() -> Arc<ServerState> {
    Arc::new(ServerState::new(StateOptions {
        fold_on_sync: true,
        ..StateOptions::default()
    }))
}

/// Reads a script; calls `between` after each step with the number of steps so far.
fn follow(
    script: &Script,
    options: AdOptions,
    server: &Arc<ServerState>,
    mut between: impl FnMut(u64),
) -> (Status, Vec<TreeRecord>) {
    let memory = MemoryStore::default();
    let store: Box<dyn Store> = Box::new(memory.clone());
    let exchange = Box::new(server.session());
    let instance = Instance::start(
        vec![script.stream()],
        options,
        exchange,
        Some(store),
        "test",
    );
    let status = instance.unwrap().run(|status| {
        between(status.num_steps);
        ControlFlow::Continue(())
    });
    let records = memory.of(Trees).into_iter();
    let mut records: Vec<TreeRecord> = records
        .map(|record| serde_json::from_value(record).unwrap())
        .collect();
    records.sort_by_key(|record| record.entry);
    (status.unwrap(), records)
}

/// Returns a script in which `main` calls `f` twice in each of `num` steps, and `f` calls `g`: once 100 µs, once 500
/// µs.
fn two_calls_a_step(num: u32) -> Script {
    let mut script = Script::new(3);
    for step in 0..num {
        let at = 10_000 * u64::from(step);
        script.step(step).enter(0, "main", at);
        for (entry, exit) in [(at + 10, at + 110), (at + 1_000, at + 1_500)] {
            script.enter(0, "f", entry);
            script.call(0, "g", entry + 5, exit - 5);
            script.exit(0, "f", exit);
        }
        script.exit(0, "main", at + 9_000);
    }
    script
}

#[test]
fn only_abnormal_trees_are_explained() {
    let server = server();
    server
        .publish_tree_model(&of("f", "f 300"), &[], 0)
        .unwrap();
    let (_, records) = follow(&two_calls_a_step(3), watching(&["f"]), &server, |_| {});
    let judged: Vec<_> = records.iter().filter_map(|it| it.judged.as_ref()).collect();
    assert_eq!(judged.len(), 6);
    for judged in judged {
        let first = judged.reasons.first().map(Reason::words);
        let expected = judged
            .is_anomaly
            .then(|| "longer: f, +200 µs (usually 300 µs)".to_owned());
        assert_eq!(first, expected);
        assert!(judged.reasons.len() <= MAX_RECORDED_REASONS);
    }
}

fn judged_by(records: &[TreeRecord]) -> Vec<(u64, Option<u32>)> {
    let version = |it: &TreeRecord| it.judged.as_ref().map(|judged| judged.version);
    records.iter().map(|it| (it.io_step, version(it))).collect()
}

#[test]
fn each_step_is_judged_by_the_model_in_force() {
    let server = server();
    let publish = |model: &str| server.publish_tree_model(&of("f", model), &[], 0).unwrap();
    let (status, records) = follow(
        &two_calls_a_step(6),
        watching(&[]),
        &server,
        |step| match step {
            1 => drop(publish("f 300")),
            3 => drop(publish("f 50")),
            4 => drop(server.put_tree_model_in_force("f", Some(1)).unwrap()),
            5 => drop(server.put_tree_model_in_force("f", None).unwrap()),
            _ => {}
        },
    );
    let expected = [(1, 1), (2, 1), (3, 2), (3, 2), (4, 1)];
    let expected = expected.map(|(step, version)| (step, Some(version)));
    assert_eq!(judged_by(&records), expected);
    assert_eq!((status.num_trees, status.num_abnormal_trees), (8, 5));
    let slow = &records[0];
    assert_eq!((slow.func.as_ref(), slow.event_id.as_str()), ("f", "3:1:5"));
    assert_eq!((slow.runtime_total, slow.num_calls), (500, 2));
    let tree = slow.tree.as_ref().unwrap();
    assert_eq!((&tree.depth, &tree.entry), (&vec![0, 1], &vec![0, 5]));
    assert_eq!(tree.inclusive, [500, 490]);
    let names: Vec<&str> = tree
        .func
        .iter()
        .map(|&func| &*tree.functions[func as usize])
        .collect();
    assert_eq!(names, ["f", "g"]);
}

#[test]
fn trees_over_several_steps_are_judged_unless_they_began_before_the_model() {
    let mut script = Script::new(0);
    script.step(0).enter(0, "f", 10);
    script.usual_calls("g", 100, 40);
    script.step(1);
    script.usual_calls("g", 50_000, 40);
    script.exit(0, "f", 90_000);
    script.enter(0, "f", 91_000);
    script.usual_calls("g", 100_000, 40);
    script.step(2);
    script.usual_calls("g", 150_000, 40);
    script.exit(0, "f", 190_000);
    let calls = |model_comes_after: u64| {
        let server = server();
        let mut options = watching(&[]);
        options.window = 1;
        let (_, records) = follow(&script, options, &server, |step| {
            if step == model_comes_after {
                server.publish_tree_model(&of("f", "f 1"), &[], 0).unwrap();
            }
        });
        records.iter().map(|it| it.num_calls).collect::<Vec<_>>()
    };
    assert_eq!(calls(1), [81], "the first began before");
    let server = server();
    server.publish_tree_model(&of("f", "f 1"), &[], 0).unwrap();
    let (_, records) = follow(&script, watching(&[]), &server, |_| {});
    let calls: Vec<u64> = records.iter().map(|it| it.num_calls).collect();
    assert_eq!(calls, [81, 81]);
}

#[test]
fn each_recursive_tree_is_judged() {
    let mut script = Script::new(0);
    script
        .step(0)
        .enter(0, "f", 0)
        .enter(0, "g", 10)
        .enter(0, "f", 20);
    script
        .call(0, "h", 30, 40)
        .exit(0, "f", 400)
        .exit(0, "g", 500)
        .exit(0, "f", 1_000);
    let server = server();
    server
        .publish_tree_model(&of("all", "f,g 0"), &[], 0)
        .unwrap();
    let (_, records) = follow(&script, watching(&[]), &server, |_| {});
    let seen: Vec<_> = records
        .iter()
        .map(|it| (it.func.as_ref().to_owned(), it.num_calls, it.runtime_total))
        .collect();
    let expected = [("f", 4, 1_000), ("g", 3, 490), ("f", 2, 380)];
    assert_eq!(
        seen,
        expected.map(|(func, calls, time)| (func.to_owned(), calls, time))
    );
}

#[test]
fn an_unreadable_model_is_reported_and_the_previous_one_stays() {
    let server = server();
    let (status, records) = follow(&two_calls_a_step(3), watching(&[]), &server, |step| {
        let model = if step == 1 { "f 300" } else { "nonsense" };
        server.publish_tree_model(&of("f", model), &[], 0).unwrap();
    });
    assert_eq!(judged_by(&records), [(1, Some(1)), (2, Some(1))]);
    let trouble = status.tree_trouble.unwrap();
    assert!(
        trouble.contains("version 2") && trouble.contains("no limit"),
        "{trouble}"
    );
}

#[test]
fn a_model_of_other_trees_is_reported_and_the_previous_one_returns() {
    let server = server();
    let (status, records) = follow(&two_calls_a_step(30), watching(&[]), &server, |step| {
        let model = match step {
            1 => "f 300",
            3 => "f -300",
            _ => return,
        };
        server.publish_tree_model(&of("f", model), &[], 0).unwrap();
    });
    let by_second = |(_, version): &(u64, Option<u32>)| *version == Some(2);
    let versions = judged_by(&records);
    // A new model is tried on 20 trees, two per step.
    assert_eq!(versions.iter().filter(|it| by_second(it)).count(), 10);
    assert_eq!(versions.last(), Some(&(29, Some(1))));
    let trouble = status.tree_trouble.unwrap();
    assert!(
        trouble.contains("version 2") && trouble.contains("20 of 20 trees"),
        "{trouble}"
    );
    // Without a previous model, no tree is judged.
    let server = self::server();
    let (status, records) = follow(&two_calls_a_step(30), watching(&[]), &server, |step| {
        if step == 1 {
            server
                .publish_tree_model(&of("f", "f -300"), &[], 0)
                .unwrap();
        }
    });
    assert_eq!((records.len(), status.num_trees), (10, 20));
}

#[test]
fn a_model_that_fails_is_put_aside_at_once() {
    let server = server();
    let (status, records) = follow(&two_calls_a_step(30), watching(&[]), &server, |step| {
        let model = match step {
            1 => "f 300",
            3 => "f fails",
            _ => return,
        };
        server.publish_tree_model(&of("f", model), &[], 0).unwrap();
    });
    // The executions of the step in which it came into force are not judged.
    let judged = (1..30).filter(|step| *step != 3);
    let judged: Vec<_> = judged.map(|step| (step, Some(1))).collect();
    assert_eq!(judged_by(&records), judged);
    let refusal = status.tree_trouble.unwrap();
    assert!(
        refusal.contains("version 2") && refusal.contains("not a number"),
        "{refusal}"
    );
}

#[test]
fn a_model_that_finds_all_or_no_trees_unusual_is_replaced() {
    let num_by_second = |model: &str, num_steps| {
        let server = server();
        let (status, records) = follow(
            &two_calls_a_step(num_steps),
            watching(&[]),
            &server,
            |step| {
                let model = match step {
                    1 => "f 300",
                    3 => model,
                    _ => return,
                };
                server.publish_tree_model(&of("f", model), &[], 0).unwrap();
            },
        );
        let judged = judged_by(&records);
        let by_second = judged.iter().filter(|(_, version)| *version == Some(2));
        (by_second.count(), status.tree_trouble)
    };
    // All trees last longer than 0 µs: detected after 20 trees, two per step.
    let (num, trouble) = num_by_second("f 0", 40);
    assert_eq!(num, 20);
    let trouble = trouble.expect("the model is refused");
    assert!(
        trouble.contains("calls 20 of 20 trees abnormal"),
        "{trouble}"
    );
    // No tree is longer than an hour: detected after 200 trees.
    let (_, trouble) = num_by_second("f 3600000000", 90);
    assert_eq!(trouble, None);
    let (_, trouble) = num_by_second("f 3600000000", 110);
    let trouble = trouble.expect("the model is refused");
    assert!(trouble.contains("none of 200 trees"), "{trouble}");
}

#[test]
fn a_restarted_instance_continues_with_the_p_values_of_the_last_trees() {
    // `f` takes 500 µs in the first step and 380 µs afterwards.
    let steps = |steps: std::ops::Range<u32>| {
        let mut script = Script::new(3);
        for step in steps {
            let at = 10_000 * u64::from(step);
            let time_us = if step == 0 { 500 } else { 380 };
            script.step(step).call(0, "f", at, at + time_us);
        }
        script
    };
    let follow = |script: &Script, server: &Arc<ServerState>, num_steps: u64| {
        let (memory, exchange) = (MemoryStore::default(), Box::new(server.session()));
        let store: Box<dyn Store> = Box::new(memory.clone());
        let streams = vec![script.stream()];
        let instance = Instance::start(streams, watching(&["f"]), exchange, Some(store), "test");
        let status = instance.unwrap().run(|status| {
            if status.num_steps >= num_steps {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        status.unwrap();
        memory.of(Trees).into_iter()
    };
    let decisions = |records: &mut dyn Iterator<Item = Value>| {
        let decision = |record: Value| {
            let is_anomaly = record["judged"]["is_anomaly"].as_bool().unwrap();
            (record["io_step"].as_u64().unwrap(), is_anomaly)
        };
        let mut decisions: Vec<_> = records.map(decision).collect();
        decisions.sort_unstable();
        decisions
    };
    let publish = |server: &Arc<ServerState>, limit: &str| {
        server.publish_tree_model(&of("f", limit), &[], 0).unwrap();
    };
    let undisturbed = server();
    publish(&undisturbed, "f 300");
    let undisturbed = decisions(&mut follow(&steps(0..8), &undisturbed, u64::MAX));
    assert_eq!(undisturbed.iter().filter(|it| it.1).count(), 8);
    // A stream continues at its current step; a file is read again from its start, by the model in force now.
    for (again, model) in [
        (steps(4..8), "f 300"),
        (steps(0..8), "f 300"),
        (steps(0..8), "f 301"),
    ] {
        let before = server();
        publish(&before, "f 300");
        let first = follow(&steps(0..8), &before, 4);
        let options = StateOptions {
            epoch: 2,
            fold_on_sync: true,
            ..StateOptions::default()
        };
        let saved = before.save().unwrap();
        let part = |_| Ok::<_, PserverError>(saved.new_part.as_ref().map(|it| it.json.clone()));
        let server = Arc::new(ServerState::restored(options, &saved.json, part).unwrap());
        publish(&server, model);
        let rest = follow(&again, &server, u64::MAX);
        assert_eq!(decisions(&mut first.chain(rest)), undisturbed);
    }
}

#[test]
fn a_sample_is_recorded_without_a_model_only_on_request() {
    let script = two_calls_a_step(20);
    let (_, records) = follow(&script, watching(&["f"]), &server(), |_| {});
    assert!(
        records
            .iter()
            .all(|it| it.is_sample && it.judged.is_none() && &*it.func == "f")
    );
    // Of 40 trees the first 32 are sampled, and every second of the rest.
    assert_eq!(records.len(), 36);
    let (status, records) = follow(&script, watching(&[]), &server(), |_| {});
    assert_eq!((records.len(), status.num_trees), (0, 0));
}
