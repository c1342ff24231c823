//! The commands: each reads its arguments, does its job and says how it went by its exit code.

mod check;
mod crds;
mod dns;
mod documents;
mod explain;
mod import;
mod keys;
mod lease;
mod logging;
mod operator;
mod plan;
mod provider;
mod signals;
mod switchover;
mod up;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::dns::without_passwords;
use anyhow::Result;
use clap::Parser;

use crate::cli::{Cli, Color, Command, LogFormat};
use crate::console::{Level, Style};
use crate::render::Palette;
use crate::source::{Severity, SourceProblem};
use crate::{console, files, memory};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// All is well.
    Good,
    /// Something could not be done or is refused.
    Failed,
    /// `plan`: there are changes. `explain`: the name does not resolve.
    Different,
    /// A code of the command's own.
    Code(u8),
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> ExitCode {
        ExitCode::from(match ending {
            Ending::Good => 0,
            Ending::Failed => 1,
            Ending::Different => 2,
            Ending::Code(code) => code,
        })
    }
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    memory::return_large_blocks();
    files::limit();
    let cli = match Cli::try_parse() {
        Ok(cli) => as_invoked(cli, is_plugin()),
        Err(error) => return usage(&error),
    };
    console::set(Style { format: cli.messages.log_format, quiet: cli.messages.quiet });
    logging::start(usual_level(&cli.command), &cli.messages);
    match dispatch(&cli) {
        Ok(ending) => ending.into(),
        Err(error) => {
            failed(&cli, &causes(&error));
            Ending::Failed.into()
        }
    }
}

/// An error with its causes. Some errors say their cause themselves: then it is not repeated.
fn causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// What the log has where neither a flag nor `RUST_LOG` says it.
fn usual_level(command: &Command) -> &'static str {
    match command {
        Command::Operator(_) | Command::Dns(_) | Command::Provider(_) => "info",
        _ => "warn",
    }
}

/// Prints why a command failed.
fn failed(cli: &Cli, error: &str) {
    // An argument may be a URL with a password, and errors name what they are about.
    let error = console::visible_lines(error);
    match cli.messages.log_format {
        LogFormat::Text => {
            eprintln!("{} {error}", palette(cli.messages.color, &io::stderr()).bad("fingerpost:"));
        }
        LogFormat::Json => eprintln!("{}", console::line(Level::Error, &error, Default::default())),
    }
}

/// Whether this is `kubectl fingerpost`.
fn is_plugin() -> bool {
    let program = std::env::args_os().next().map(PathBuf::from);
    program.as_deref().and_then(Path::file_stem).is_some_and(|name| name == "kubectl-fingerpost")
}

/// As a plugin of kubectl, what names no other source is about the cluster.
fn as_invoked(mut cli: Cli, plugin: bool) -> Cli {
    match &mut cli.command {
        Command::Plan(plan) if plugin && plan.against.is_empty() && plan.url.is_none() => plan.kube = true,
        Command::Explain(explain) if plugin && explain.folders.folders.is_empty() => {
            explain.kube = explain.url.is_none();
        }
        Command::Switchover(switchover) if plugin => switchover.kube = true,
        _ => {}
    }
    cli
}

/// A slip in the arguments is an error, 1; clap's own 2 would look like "there are changes".
fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render();
    let styled = if error.use_stderr() { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let text = if styled { text.ansi().to_string() } else { text.to_string() };
    // An argument, or an environment variable that help shows, may be a URL with a password.
    let text = without_passwords(&text);
    // Where even this cannot be printed the exit code is all there is.
    let _ = if error.use_stderr() {
        io::stderr().write_all(text.as_bytes())
    } else {
        io::stdout().write_all(text.as_bytes())
    };
    if error.use_stderr() { Ending::Failed.into() } else { Ending::Good.into() }
}

fn dispatch(cli: &Cli) -> Result<Ending> {
    let palette = palette(cli.messages.color, &io::stdout());
    match &cli.command {
        Command::Up(arguments) => up::run(arguments, palette_of_lines(cli, palette)),
        Command::Plan(arguments) => plan::run(arguments, palette),
        Command::Explain(arguments) => explain::run(arguments, palette),
        Command::Check(arguments) => check::run(arguments, palette),
        Command::Keys(arguments) => keys::run(arguments),
        Command::Switchover(arguments) => switchover::run(arguments, palette),
        Command::Lease(arguments) => lease::run(arguments),
        Command::Crds { output } => crds::run(*output),
        Command::Import(arguments) => import::run(arguments, palette),
        Command::Operator(arguments) => operator::run(arguments),
        Command::Dns(arguments) => dns::run(arguments),
        Command::Provider(arguments) => provider::run(arguments),
        Command::Completions { shell } => documents::completions(*shell),
        Command::Man { directory } => documents::man(directory),
        Command::Version { output } => documents::version(*output),
    }
}

/// JSON has no colours.
fn palette_of_lines(cli: &Cli, palette: Palette) -> Palette {
    match cli.messages.log_format {
        LogFormat::Text => palette,
        LogFormat::Json => Palette::plain(),
    }
}

fn palette(flag: Color, stream: &impl IsTerminal) -> Palette {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Palette::new(flag, stream.is_terminal(), no_color)
}

/// Prints to standard output; a reader that has seen enough, such as `head`, is no error.
fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Tells what is wrong in the folders, on standard error.
fn report(problems: &[SourceProblem]) {
    for problem in problems {
        match problem.severity {
            Severity::Refused => console::error(&problem.to_string()),
            Severity::Remark => console::warning(&problem.to_string()),
        }
    }
}
