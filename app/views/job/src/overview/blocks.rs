//! What is shown of a job with many ranks: blocks, or the ranks of one of them.

use callgrove_actions::context::ViewContext;
use callgrove_model::{count_of, thousands};
use callgrove_watch::{RankBlock, RankBlocks, RankRange, WatchCommand};
use callgrove_widgets::in_picture;
use callgrove_widgets::text::num_anomalies;
use egui::{Label, Ui};

/// Draws the line that says of how many ranks the heat map has blocks; nothing if it has all ranks.
pub(super) fn blocks_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    let Some(blocks) = &ctx.snapshot.watch.overview().blocks else {
        return;
    };
    let open = ctx.snapshot.watch.open_block();
    let text = match open {
        Some(ranks) => open_text(ctx, blocks, ranks),
        None if in_picture(ui) => blocks_text(blocks),
        None => blocks_text(blocks) + "; click on a block to see its ranks",
    };
    ui.horizontal(|ui| {
        if open.is_some()
            && !in_picture(ui)
            && ui
                .button("All blocks")
                .on_hover_text("Show the blocks of ranks again")
                .clicked()
        {
            ctx.watch(WatchCommand::ShowRanks(None));
        }
        ui.add(Label::new(egui::RichText::new(text).weak()).truncate());
    });
}

/// Draws what is known of a block.
pub(super) fn block_facts_ui(ctx: &ViewContext<'_>, ranks: RankRange, ui: &mut Ui) {
    let blocks = ctx.snapshot.watch.overview().blocks.as_ref();
    let block = blocks.and_then(|it| it.block_of(ranks.app, ranks.first_rank));
    let Some(block) = block else {
        return;
    };
    if let Some(hosts) = hosts_text(block) {
        ui.label(hosts);
    }
    ui.label(format!(
        "{} in {}, {}",
        num_anomalies(block.num_anomalies),
        count_of(block.num_steps, "step"),
        count_of(block.num_ranks, "rank"),
    ));
    if block.num_anomalies > 0 {
        ui.label(format!(
            "Most on rank {}: {}",
            block.worst_rank,
            thousands(block.worst_num_anomalies)
        ));
    }
}

/// Returns the line about all blocks.
fn blocks_text(blocks: &RankBlocks) -> String {
    let most = blocks.blocks.iter().map(|block| block.num_ranks).max();
    let has_hosts = blocks.blocks.iter().any(|block| block.first_host.is_some());
    format!(
        "{} in {} of up to {}, by {}",
        count_of(blocks.num_ranks, "rank"),
        count_of(blocks.blocks.len(), "block"),
        thousands(most.unwrap_or(0)),
        if has_hosts { "host" } else { "number" },
    )
}

/// Returns the line about an open block.
fn open_text(ctx: &ViewContext<'_>, blocks: &RankBlocks, ranks: RankRange) -> String {
    let block = blocks.block_of(ranks.app, ranks.first_rank);
    let hosts = block
        .and_then(hosts_text)
        .map(|hosts| format!(" on {hosts}"));
    let name = ctx.ranks_name(ranks);
    format!(
        "{}{}, of {}",
        name.replacen('r', "R", 1),
        hosts.unwrap_or_default(),
        count_of(blocks.num_ranks, "rank"),
    )
}

fn hosts_text(block: &RankBlock) -> Option<String> {
    let (first, last) = (block.first_host.as_ref()?, block.last_host.as_ref()?);
    Some(if first == last {
        first.to_string()
    } else {
        format!("{first} to {last}")
    })
}

/// Draws the line that says which ranks are listed, and opens the block of a rank that is searched for but not listed.
pub(super) fn listed_ui(ctx: &mut ViewContext<'_>, search: &str, ui: &mut Ui) {
    let watch = &ctx.snapshot.watch;
    let (Some(blocks), None) = (&watch.overview().blocks, watch.open_block()) else {
        return;
    };
    let listed = watch.overview().ranks.len() as u64;
    let omitted = blocks.num_ranks.saturating_sub(listed);
    let text = format!(
        "The {} with the most anomalies; {} more in blocks",
        count_of(listed, "rank"),
        thousands(omitted)
    );
    ui.add(Label::new(egui::RichText::new(text).weak()).truncate());
    let Ok(rank) = search.trim().parse::<u32>() else {
        return;
    };
    let found = blocks.blocks.iter().map(|block| block.ranks);
    let found: Vec<RankRange> = found.filter(|it| it.contains(it.app, rank)).collect();
    for ranks in found {
        let name = ctx.rank_name(ranks.app, rank);
        if ui.button(format!("Show the block of {name}")).clicked() {
            ctx.watch(WatchCommand::ShowRanks(Some(ranks)));
        }
    }
}
