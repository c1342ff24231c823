//! `dig`, the client that everybody has at hand at night.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::call;

/// What `dig` showed: status, flags and the sections' records, each as one line with single spaces.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dig {
    /// `NOERROR`, `NXDOMAIN` and so on; empty where there was no reply.
    pub status: String,
    /// The header's flags.
    pub flags: Vec<String>,
    /// The answer section.
    pub answer: Vec<String>,
    /// The authority section.
    pub authority: Vec<String>,
    /// The additional section, without the OPT pseudo-record.
    pub additional: Vec<String>,
}

impl Dig {
    /// The data of the answer's records of one type, in order of text.
    pub fn data(&self, record_type: &str) -> Vec<String> {
        let fields = self.answer.iter().map(|line| line.splitn(5, ' ').collect::<Vec<_>>());
        let mut data: Vec<_> =
            fields.filter(|f| f.len() == 5 && f[3] == record_type).map(|f| f[4].to_owned()).collect();
        data.sort();
        data
    }
}

/// Asks a server once, without recursion; `question` is `name type +options` as one would type it.
pub fn dig(server: SocketAddr, question: &str) -> Result<Dig> {
    let (address, port) = (format!("@{}", server.ip()), server.port().to_string());
    let mut arguments = vec![address.as_str(), "-p", &port, "+norecurse", "+time=3", "+tries=1"];
    arguments.extend(["+noall", "+comments", "+answer", "+authority", "+additional"]);
    arguments.extend(question.split(' '));
    let output = call("dig", "bind9-dnsutils", &arguments)?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "dig {question} got no reply from {server}: {text}");
    Ok(parse(&text))
}

/// The same by a command that runs `dig`, such as one on another host.
pub fn dig_with(command: &mut Command, server: SocketAddr, question: &str) -> Result<Dig> {
    command.args([format!("@{}", server.ip()), "-p".to_owned(), server.port().to_string()]);
    command.args(["+norecurse", "+time=3", "+noall", "+comments", "+answer"]).args(question.split(' '));
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "dig {question} got no reply from {server}: {text}");
    Ok(parse(&text))
}

fn parse(text: &str) -> Dig {
    let mut dig = Dig::default();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(header) = line.strip_prefix(";; ->>HEADER<<-") {
            dig.status = between(header, "status: ", ",").to_owned();
        } else if let Some(flags) = line.strip_prefix(";; flags: ") {
            dig.flags = between(flags, "", ";").split(' ').map(str::to_owned).collect();
        } else if let Some(name) = line.strip_prefix(";; ").and_then(|rest| rest.strip_suffix(" SECTION:")) {
            section = name.to_owned();
        } else if !line.is_empty() && !line.starts_with(';') {
            dig.section(&section).push(line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    dig
}

impl Dig {
    fn section(&mut self, name: &str) -> &mut Vec<String> {
        match name {
            "ANSWER" => &mut self.answer,
            "AUTHORITY" => &mut self.authority,
            _ => &mut self.additional,
        }
    }
}

/// The piece of text after `from` and before `to`.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).map_or("", |(_, rest)| rest);
    rest.split_once(to).map_or(rest, |(piece, _)| piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_dig_becomes_fields() {
        let text = ";; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 1\n\
            ;; flags: qr aa; QUERY: 1, ANSWER: 1, AUTHORITY: 0, ADDITIONAL: 1\n\n\
            ;; ANSWER SECTION:\nwww.example.org.\t60\tIN\tA\t192.0.2.1\n\n\
            ;; AUTHORITY SECTION:\nexample.org.  60 IN NS ns1.example.org.\n";
        let dig = parse(text);
        assert_eq!((dig.status.as_str(), dig.flags.join(" ")), ("NOERROR", "qr aa".to_owned()));
        assert_eq!(dig.answer, ["www.example.org. 60 IN A 192.0.2.1"]);
        assert_eq!(dig.authority, ["example.org. 60 IN NS ns1.example.org."]);
        assert_eq!(dig.data("A"), ["192.0.2.1"]);
    }
}
