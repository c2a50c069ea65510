//! Judges the records of a live run by the complete models after the run, if its instances could not do so.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use callgrove_model::{ProgramId, RankId};
use callgrove_provdb::{Claim, Collection, Filter, ProvDbError, Query, Store};
use callgrove_pserver::ModelExchange;
use serde::Deserialize;

use super::{Instance, Status};
use crate::error::AdError;
use crate::options::AdOptions;

/// The fields that identify a rank in the documents of `metadata`.
#[derive(Deserialize)]
struct OfRank {
    rid: u32,
}

/// The fields that identify a function in the documents of `ad_model`.
#[derive(Deserialize)]
struct OfFunction {
    func_name: String,
}

impl Instance {
    /// Judges all stored records of the program again by the models of the parameter server. Meanwhile it claims the
    /// ranks as `name`.
    ///
    /// # Errors
    /// [`AdError::ProvDb`], also if an instance has claimed a rank; [`AdError::Exchange`].
    pub fn rejudge(
        options: AdOptions,
        exchange: Box<dyn ModelExchange>,
        mut store: Box<dyn Store>,
        name: &str,
    ) -> Result<Status, AdError> {
        let mut instance = Self::start(Vec::new(), options, exchange, None, name)?;
        let program = instance.options.program;
        let ranks: BTreeSet<u32> =
            stored(&mut *store, Collection::Metadata, program, |it: OfRank| {
                it.rid
            })?;
        // Held until this function returns.
        let claims = ranks.iter().map(|&rank| store.claim(program.0, rank, name));
        let _claims = claims.collect::<Result<Vec<Claim>, _>>()?;
        let reporter = &mut instance.reporter;
        reporter.hello.ranks = ranks.into_iter().map(RankId).collect();
        reporter.hello.run = store.run()?.unwrap_or_default();
        reporter.exchange.register(&reporter.hello)?;
        let functions: BTreeSet<String> = stored(
            &mut *store,
            Collection::AdModel,
            program,
            |it: OfFunction| it.func_name,
        )?;
        let functions: Vec<String> = functions.into_iter().collect();
        for function in &functions {
            instance.functions.intern(function);
        }
        instance.add_functions()?;
        let progress = instance.reporter.exchange.progress(0)?.unwrap_or_default();
        instance.take_complete(progress.learnt_in, true)?;
        instance.judge_stored(&mut *store)?;
        let watch = &mut |_: &Status| ControlFlow::Continue(());
        instance.reporter.leave(&mut instance.status, watch)?;
        store.leave().ok();
        Ok(instance.status)
    }
}

/// Returns the distinct values that the documents of a program in a collection have.
fn stored<T: for<'a> Deserialize<'a>, V: Ord>(
    store: &mut dyn Store,
    collection: Collection,
    program: ProgramId,
    value: impl Fn(T) -> V,
) -> Result<BTreeSet<V>, ProvDbError> {
    let query = Query {
        filter: Some(Filter::parse(&format!("pid = {program}"))?),
        ..Query::all(collection)
    };
    let documents = store.find(&query)?;
    let read = documents.iter().map(|json| serde_json::from_str(json));
    // Documents of other releases that this one cannot read are skipped.
    Ok(read.flatten().map(value).collect())
}
