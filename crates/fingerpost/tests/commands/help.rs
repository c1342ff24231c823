//! The help as it is printed, and slips in the arguments.

use rstest::rstest;

use crate::fingerpost;
use crate::golden::matches;

#[rstest]
#[case("fingerpost", &["--help"])]
#[case("up", &["up", "--help"])]
#[case("plan", &["plan", "--help"])]
#[case("explain", &["explain", "--help"])]
#[case("check", &["check", "--help"])]
#[case("crds", &["crds", "--help"])]
#[case("import", &["import", "--help"])]
#[case("provider", &["provider", "--help"])]
#[case("completions", &["completions", "--help"])]
#[case("man", &["man", "--help"])]
#[case("version", &["version", "--help"])]
fn help_is_as_recorded(#[case] name: &str, #[case] arguments: &[&str]) {
    let run = fingerpost(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    matches(&format!("help.{name}.txt"), &run.stdout);
}

#[rstest]
#[case(&["plan", "--bogus"], "unexpected argument '--bogus'")]
#[case(&["plan", "--date", "tomorrow", "examples/quickstart"], "invalid value 'tomorrow' for '--date")]
#[case(&["keys", "roll", "example.org", "examples/quickstart"], "<--zsk|--ksk>")]
#[case(&["keys", "roll", "example.org", "--zsk", "--ksk", "examples/quickstart"], "cannot be used with")]
#[case(&["plan"], "no folder was given: name one as DIR")]
#[case(&["up", "--dns", "somewhere", "examples/quickstart"], "invalid value 'somewhere' for '--dns")]
#[case(&["explain", "a..b", "examples/quickstart"], "invalid value 'a..b' for '<NAME>'")]
#[case(&["explain", "www.example.org", "--type", "AAAAA", "examples/quickstart"], "`AAAAA` is not a record type")]
fn a_slip_in_the_arguments_is_an_error_and_never_a_change(#[case] arguments: &[&str], #[case] message: &str) {
    let run = fingerpost(arguments);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains(message), "{}", run.stderr);
}

#[test]
fn crds_are_printed_for_every_kind() {
    let run = fingerpost(&["crds"]);
    assert_eq!(run.code, 0);
    let count = run.stdout.matches("kind: CustomResourceDefinition").count();
    assert_eq!(count, api::Kind::ALL.iter().filter(|kind| kind.is_ours()).count());
}

#[rstest]
#[case("bash", "complete -F _fingerpost")]
#[case("zsh", "#compdef fingerpost")]
#[case("fish", "complete -c fingerpost")]
#[case("powershell", "Register-ArgumentCompleter")]
fn shells_complete_every_command(#[case] shell: &str, #[case] line: &str) {
    let run = fingerpost(&["completions", shell]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains(line), "{}", run.stdout);
    for command in ["up", "plan", "explain", "check", "switchover", "provider"] {
        assert!(run.stdout.contains(command), "{command}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("man1");
    let run = fingerpost(&["man", directory.to_str().unwrap()]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    let help = fingerpost(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands =
        commands.take_while(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().next());
    let commands: Vec<&str> = commands.filter(|command| *command != "help").collect();
    assert!(commands.len() > 10, "{help}");
    for command in commands {
        let page = std::fs::read_to_string(directory.join(format!("fingerpost-{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(command), "{page}");
    }
}

#[test]
fn the_version_is_for_people_and_for_programs() {
    let text = fingerpost(&["version"]);
    assert!(text.code == 0 && text.stdout.starts_with("fingerpost 0."), "{}", text.stdout);
    let data: serde_json::Value =
        serde_json::from_str(&fingerpost(&["version", "-o", "json"]).stdout).unwrap();
    assert!(data["version"].is_string() && data.get("commit").is_some(), "{data}");
}

/// The examples of a help text: the indented lines of its first paragraphs, with continued lines joined.
fn examples(help: &str) -> Vec<String> {
    let sections = ["Examples:", "Start here:"];
    let lines = help.lines().skip_while(|line| !sections.contains(line)).skip(1);
    let mut examples: Vec<String> = Vec::new();
    for line in lines.take_while(|line| line.starts_with("  ")) {
        match examples.last_mut().filter(|last| last.ends_with('\\')) {
            Some(last) => *last += &format!("\n{line}"),
            None => examples.push(line.trim_start().to_owned()),
        }
    }
    examples
}

/// Runs an example in a shell where every program only notes its arguments; those of `fingerpost` come back.
fn pasted(example: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir_all(folder.path().join("manifests")).unwrap();
    std::fs::create_dir(&bin).unwrap();
    let noted = folder.path().join("arguments");
    for program in ["fingerpost", "helm", "kubectl", "external-dns", "man"] {
        let note = if program == "fingerpost" {
            format!("printf '%s\\n' \"$@\" > {}", noted.display())
        } else {
            String::new()
        };
        let path = bin.join(program);
        std::fs::write(&path, format!("#!/bin/sh\n{note}\n")).unwrap();
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        std::fs::set_permissions(&path, permissions).unwrap();
    }
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", example]).env("PATH", &bin).env("HOME", folder.path()).current_dir(folder.path());
    let output = shell.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{example}: {output:?}");
    let noted = std::fs::read_to_string(&noted).unwrap_or_default();
    noted.lines().map(str::to_owned).collect()
}

#[test]
fn every_example_works_when_it_is_copied() {
    use clap::Parser;
    let help = fingerpost(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| line.starts_with("  "));
    let commands = commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let mut count = 0;
    let helps = commands.map(|command| fingerpost(&[command, "--help"]).stdout).collect::<Vec<_>>();
    for example in helps.iter().chain([&help]).flat_map(|help| examples(help)) {
        let arguments = pasted(&example);
        if example.starts_with("external-dns") {
            continue;
        }
        let all = std::iter::once("fingerpost").chain(arguments.iter().map(String::as_str));
        let parsed = fingerpost::cli::Cli::try_parse_from(all);
        assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        count += 1;
    }
    assert!(count > 30, "only {count} examples were found");
}
