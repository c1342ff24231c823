//! `fingerpost plan`: the whole plan, or what differs from another.

use anyhow::{Context, Result};
use jiff::civil::Date;
use planner::document::{Difference, Document, diff};

use super::{Ending, print, report};
use crate::cli::{PlanArguments, PlanOutput};
use crate::planned::{self, Before, ClusterPlan, Planned};
use crate::render::{self, Palette};

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
    let (after, whole) = after(arguments, date, before.as_mut())?;
    let differences = before.as_ref().map(|before| diff(&before.document, &after));
    print(&text(&after, differences.as_deref(), arguments.output, palette)?)?;
    Ok(match differences {
        _ if !whole => Ending::Failed,
        Some(differences) if !differences.is_empty() => Ending::Different,
        _ => Ending::Good,
    })
}

/// What the operator would change in a cluster, as it stands or with folders applied to it.
fn of_cluster(arguments: &PlanArguments, date: Date, palette: Palette) -> Result<Ending> {
    let planned =
        ClusterPlan::read(&arguments.cluster, &arguments.folders.folders, date, &arguments.tenancy.rules())?;
    report(&planned.problems);
    let differences = diff(&planned.held, &planned.plan);
    print(&text(&planned.plan, Some(&differences), arguments.output, palette)?)?;
    Ok(match differences.is_empty() {
        _ if planned.is_partial() => Ending::Failed,
        true => Ending::Good,
        false => Ending::Different,
    })
}

/// The plan, and whether all of it could be read. It follows the plan before: serials go on, who holds a name
/// there keeps it, and what is in force there stays in force where the new version cannot be.
fn after(arguments: &PlanArguments, date: Date, before: Option<&mut Before>) -> Result<(Document, bool)> {
    if let Some(url) = &arguments.url {
        return Ok((planned::fetch_plan(url, &arguments.reader)?, true));
    }
    let rules = arguments.tenancy.rules();
    let planned = Planned::read_after(&arguments.folders.folders, date, &rules, before)?;
    report(&planned.problems);
    planned.foreign_notes().iter().for_each(|note| eprintln!("{note}"));
    Ok((Document::of(&planned.planner), !planned.is_partial()))
}

fn text(
    plan: &Document,
    differences: Option<&[Difference]>,
    output: PlanOutput,
    palette: Palette,
) -> Result<String> {
    Ok(match (output, differences) {
        (PlanOutput::Text, None) => render::plan::whole(plan, palette),
        (PlanOutput::Text, Some([])) => "No changes.\n".to_owned(),
        (PlanOutput::Text, Some(differences)) => {
            render::plan::differences(differences, plan.clusters.len() > 1, palette)
        }
        (PlanOutput::Json, None) => serde_json::to_string_pretty(plan)? + "\n",
        (PlanOutput::Json, Some(differences)) => serde_json::to_string_pretty(differences)? + "\n",
        (PlanOutput::Yaml, _) => render::manifests::yaml(plan)?,
        (PlanOutput::Zone, _) => render::zones::master_files(plan)?,
    })
}
