//! The arguments of every command: what is printed besides the data.

use clap::{Args, ValueEnum};

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The form of the log and of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What is printed besides the data that a command is asked for.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Messages")]
pub struct MessageArguments {
    /// Print only errors and the data that was asked for
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log what happens inside, as RUST_LOG=debug does
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// The form of the log and of messages
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "FINGERPOST_LOG_FORMAT",
        value_name = "FORM"
    )]
    pub log_format: LogFormat,
    /// When to use colours; NO_COLOR turns them off too
    #[arg(long, global = true, value_enum, default_value_t, env = "FINGERPOST_COLOR", value_name = "WHEN")]
    pub color: Color,
}
