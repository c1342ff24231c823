//! `fingerpost explain`: which answer a name gets and why.

use anyhow::{Context, Result};

use super::{Ending, print, report};
use crate::cli::{DataOutput, ExplainArguments};
use crate::explanation::{self, Explanation, Question};
use crate::instance;
use crate::planned::{self, Planned};
use crate::render::{self, Palette};

pub(super) fn run(arguments: &ExplainArguments, palette: Palette) -> Result<Ending> {
    let explanation = match &arguments.url {
        Some(url) => fetch(url, arguments)?,
        None if arguments.kube => of_cluster(arguments)?,
        None => read(arguments)?,
    };
    print(&match arguments.output {
        DataOutput::Text => render::explanation::text(&explanation, palette),
        DataOutput::Json => serde_json::to_string_pretty(&explanation)? + "\n",
    })?;
    Ok(if explanation.resolves { Ending::Good } else { Ending::Different })
}

fn read(arguments: &ExplainArguments) -> Result<Explanation> {
    let planned =
        Planned::read(&arguments.folders.folders, planned::current_date(), &arguments.tenancy.rules())?;
    report(&planned.problems);
    let zones = instance::zones(&planned.planner);
    let mut explanation =
        explanation::explain(&planned.planner, |view| zones.get(view), &question(arguments))?;
    explanation.locate(&planned.planner, |objects| planned.source.locations(objects));
    Ok(explanation)
}

fn of_cluster(arguments: &ExplainArguments) -> Result<Explanation> {
    let planner =
        planned::explainable(&arguments.cluster, planned::current_date(), &arguments.tenancy.rules())?;
    let zones = instance::zones(&planner);
    Ok(explanation::explain(&planner, |view| zones.get(view), &question(arguments))?)
}

fn question(arguments: &ExplainArguments) -> Question {
    Question {
        name: arguments.name.clone(),
        rtype: arguments.rtype,
        view: arguments.view.clone(),
        client: arguments.client,
    }
}

fn fetch(url: &str, arguments: &ExplainArguments) -> Result<Explanation> {
    let mut query = vec![("name", arguments.name.to_string())];
    query.extend(arguments.rtype.map(|rtype| ("type", rtype.to_string())));
    query.extend(arguments.view.clone().map(|view| ("view", view)));
    query.extend(arguments.client.map(|client| ("client", client.to_string())));
    let text = planned::fetch(url, "/api/v1/explain", &query, &arguments.reader)?;
    serde_json::from_str(&text).with_context(|| format!("the answer of {url} is not an explanation"))
}
