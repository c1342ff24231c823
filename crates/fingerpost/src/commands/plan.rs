//! `fingerpost plan`: the whole plan, or what differs from another.

use anyhow::{Context, Result, bail};
use jiff::civil::Date;
use planner::document::{Document, DocumentBroken};

use super::{Ending, print, report};
use crate::cli::{PlanArguments, PlanOutput, PlanShow};
use crate::console;
use crate::planned::{self, Before, ClusterPlan, Planned, Review};
use crate::render::numbers::count;
use crate::render::{self, Palette};

/// The exit code where more would be removed than `--max-deletes` permits.
const TOO_MANY_DELETIONS: u8 = 3;

/// A plan of what the arguments name.
struct After {
    plan: Document,
    broken: Vec<DocumentBroken>,
    /// Whether all of it could be read.
    whole: bool,
}

pub(super) fn run(arguments: &PlanArguments, palette: Palette) -> Result<Ending> {
    let date = arguments.date.unwrap_or_else(planned::current_date);
    if arguments.kube {
        return of_cluster(arguments, date, palette);
    }
    let mut before = match &arguments.against[..] {
        [] => None,
        against => {
            let rules = arguments.tenancy.rules();
            Some(planned::before(against, date, &rules, &arguments.reader).context("--against")?)
        }
    };
    if before.is_none() {
        require_comparison(arguments)?;
    }
    let after = after(arguments, date, before.as_mut())?;
    let review = before.map(|before| {
        warn_of_older(&before.document);
        Review::of(&before.document, &after.plan, after.broken)
    });
    print(&text(&after.plan, review.as_ref(), arguments, palette)?)?;
    Ok(match review {
        _ if !after.whole => Ending::Failed,
        Some(review) => ending(&review, arguments, arguments.shows_status()),
        None => Ending::Good,
    })
}

/// What the operator would change in a cluster, as it stands or with folders applied to it.
fn of_cluster(arguments: &PlanArguments, date: Date, palette: Palette) -> Result<Ending> {
    let planned =
        ClusterPlan::read(&arguments.cluster, &arguments.folders.folders, date, &arguments.tenancy.rules())?;
    report(&planned.problems);
    let review = Review::of(&planned.held, &planned.plan, planned.broken());
    print(&text(&planned.plan, Some(&review), arguments, palette)?)?;
    if !arguments.shows_status() && !review.statuses.is_empty() {
        let objects = count(review.statuses.len() as u64, "object");
        console::note(&format!("the status of {objects} would be written besides: --show status prints it"));
    }
    // The operator writes statuses too.
    Ok(if planned.is_partial() { Ending::Failed } else { ending(&review, arguments, true) })
}

impl PlanArguments {
    fn shows_status(&self) -> bool {
        self.show.contains(&PlanShow::Status)
    }
}

fn require_comparison(arguments: &PlanArguments) -> Result<()> {
    let needs = [
        (arguments.max_deletes.is_some(), "--max-deletes"),
        (arguments.output == PlanOutput::Markdown, "-o markdown"),
        (!arguments.show.is_empty(), "--show"),
    ];
    match needs.into_iter().find(|(given, _)| *given) {
        Some((_, what)) => bail!("{what} is about what differs: give --against or --kube with it"),
        None => Ok(()),
    }
}

/// A plan of an older fingerpost says less, so that less can be compared.
fn warn_of_older(before: &Document) {
    if !before.has_steering() {
        console::warning(
            "--against: this plan was made by an older fingerpost and has no weights, places, order and health checks: \
             changes of these are not shown",
        );
    }
}

/// `statuses`: whether these count as changes.
fn ending(review: &Review, arguments: &PlanArguments, statuses: bool) -> Ending {
    let (removed, before) = (review.tally.remove, review.record_sets_before);
    let excess = arguments.max_deletes.filter(|most| !most.permits(removed, before));
    if let Some(most) = excess {
        console::error(&format!(
            "fingerpost: {removed} of {} would be removed, and --max-deletes permits {most}",
            count(before as u64, "record set")
        ));
    }
    match excess {
        _ if !review.broken.is_empty() => Ending::Failed,
        Some(_) => Ending::Code(TOO_MANY_DELETIONS),
        None if review.is_empty(statuses) => Ending::Good,
        None => Ending::Different,
    }
}

/// The plan, and whether all of it could be read. It follows the plan before: serials go on, who holds a name
/// there keeps it, and what is in force there stays in force where the new version cannot be.
fn after(arguments: &PlanArguments, date: Date, before: Option<&mut Before>) -> Result<After> {
    if let Some(url) = &arguments.url {
        let plan = planned::fetch_plan(url, &arguments.reader)?;
        let broken = plan.broken.clone();
        return Ok(After { plan, broken, whole: true });
    }
    let rules = arguments.tenancy.rules();
    let planned = Planned::read_after(&arguments.folders.folders, date, &rules, before)?;
    report(&planned.problems);
    planned.foreign_notes().iter().for_each(|note| console::warning(note));
    let plan = Document::of(&planned.planner);
    let broken = planned.broken(&plan);
    Ok(After { plan, broken, whole: !planned.is_partial() })
}

fn text(
    plan: &Document,
    review: Option<&Review>,
    arguments: &PlanArguments,
    palette: Palette,
) -> Result<String> {
    let statuses = arguments.shows_status();
    Ok(match (arguments.output, review) {
        (PlanOutput::Text, None) => render::plan::whole(plan, palette),
        (PlanOutput::Text, Some(review)) => render::plan::differences(review, statuses, palette),
        (PlanOutput::Json, None) => serde_json::to_string_pretty(plan)? + "\n",
        (PlanOutput::Json, Some(review)) => serde_json::to_string_pretty(&review.to_json(statuses))? + "\n",
        (PlanOutput::Markdown, None) => bail!("-o markdown is about what differs"),
        (PlanOutput::Markdown, Some(review)) => render::markdown::differences(review, statuses),
        (PlanOutput::Yaml, _) => render::manifests::yaml(plan)?,
        (PlanOutput::Zone, _) => render::zones::master_files(plan)?,
    })
}
