//! PowerDNS: Lua records out of the typed tree, loaded and answered by the real server.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::thread;

use backends::Entry;
use backends::powerdns::Version;
use backends::powerdns::lua::{self, Expression, Options, Place, PortUp, Program, Selector, UrlUp, Weighted};
use dns::{Rdata, RecordSet, Rtype};
use e2e::{PowerDns, Store, ask_many, block_on, call, dig, eventually, own_address, question};

use crate::powerdns_world::{content, creations_of, name, open, write, write_by_hand};

const LUA: Rtype = Rtype(65402);
const OLD: Version = Version { major: 4, minor: 7 };
/// Odd letters, and texts that would like to be code.
const HOSTILE: [&str; 8] = [
    "'})os.execute('x')--",
    "\\'});error('out')--",
    "\\",
    "\"",
    "]]..os.exit(1)--[[",
    "\\039\\034",
    "\n;return 'x'",
    "grüße \u{0}\u{7f}",
];

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn url_up(url: &str, groups: Vec<Vec<IpAddr>>, options: Options) -> Expression {
    Expression::UrlUp(UrlUp { url: url.to_owned(), groups, options })
}

/// One expression of each kind.
fn every_kind() -> Vec<Expression> {
    let (one, two) = (addresses(&["192.0.2.1"]), addresses(&["192.0.2.1", "192.0.2.2"]));
    let options = |selector| Options { selector, timeout: Some(1), ..Options::default() };
    let member = |weight, texts: &[&str]| (weight, addresses(texts));
    vec![
        Expression::All(two.clone()),
        Expression::Closest(two.clone()),
        url_up("https://www.example.org:8443/up?a=b", vec![one.clone(), two.clone()], options(Selector::All)),
        url_up("http://www.example.org/", vec![two.clone()], options(Selector::Random)),
        Expression::PortUp(PortUp {
            port: 443,
            groups: vec![two.clone()],
            options: options(Selector::Hashed),
        }),
        Expression::PortUp(PortUp {
            port: 443,
            groups: vec![one.clone()],
            options: options(Selector::Closest),
        }),
        Expression::Weighted(Weighted {
            sticky: true,
            members: vec![member(1, &["192.0.2.1"]), member(9, &["192.0.2.2"])],
        }),
        Expression::Weighted(Weighted {
            sticky: false,
            members: vec![
                member(1, &["192.0.2.1", "192.0.2.2"]),
                member(9, &["192.0.2.2"]),
                member(0, &["198.51.100.1"]),
            ],
        }),
        Expression::Places(
            vec![
                (Place::Country("IE".to_owned()), Expression::All(one.clone())),
                (Place::Continent("eu".to_owned()), Expression::Closest(two.clone())),
            ],
            Box::new(Expression::All(two)),
        ),
    ]
}

fn entries(expressions: &[Expression]) -> Vec<Entry> {
    let programs = expressions.iter().map(|expression| Program::new([(Rtype::A, expression)], OLD).unwrap());
    programs.enumerate().map(|(at, program)| program.at(name(&format!("l{at:03}.lua.test.")), 30)).collect()
}

#[test]
fn every_expression_loads_answers_and_reads_back() {
    for store in Store::ALL {
        let server = PowerDns::with(store, "enable-lua-records=yes").unwrap();
        let provider = server.provider().unwrap();
        open(&provider, "lua.test.").unwrap();
        assert!(block_on(provider.version()).unwrap().unwrap() >= OLD);
        let texts = HOSTILE.map(|text| Options {
            contains: Some(text.repeat(20)),
            user_agent: Some(text.to_owned()),
            ..Options::default()
        });
        let hostile =
            texts.map(|options| url_up("http://a'b\"c\\d/", vec![addresses(&["192.0.2.1"])], options));
        let expressions = [every_kind(), hostile.into()].concat();
        let entries = entries(&expressions);
        let sets: Vec<RecordSet> = entries.iter().map(|entry| entry.set.clone()).collect();
        write(&provider, &creations_of("lua.test.", &entries));
        assert_eq!(content(&provider, "lua.test."), sets, "{store:?}");
        for set in &sets {
            let answer = dig(server.dns(), &format!("{} A", set.name)).unwrap();
            let data = answer.data("A");
            assert!(
                !data.is_empty() && data.iter().all(|address| address.starts_with("192.0.2.")),
                "{set:?}: {answer:?}"
            );
        }
    }
}

#[test]
fn the_first_group_with_a_live_member_answers() {
    let (live, dead) = (own_address(), own_address());
    let listener = TcpListener::bind((live, 80)).unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nit's \"up\"");
        }
    });
    let server = PowerDns::with(Store::Lmdb, "enable-lua-records=yes\nlua-health-checks-interval=1").unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "lua.test.").unwrap();
    let options = Options { contains: Some("it's \"up\"".to_owned()), ..Options::default() };
    let groups = vec![vec![dead], vec![live]];
    let expressions = [
        url_up("http://www.example.org/", groups.clone(), options),
        url_up(
            "http://www.example.org/",
            groups,
            Options { contains: Some("down".to_owned()), ..Options::default() },
        ),
    ];
    write(&provider, &creations_of("lua.test.", &entries(&expressions)));
    eventually(|| dig(server.dns(), "l000.lua.test A").unwrap().data("A") == [live.to_string()]).unwrap();
    assert_eq!(dig(server.dns(), "l001.lua.test A").unwrap().data("A").len(), 2, "all down answers with all");
}

/// What a record has PowerDNS run.
fn body(data: &Rdata) -> String {
    let mut left = &data.wire()[2..];
    let mut strings = Vec::new();
    while let Some((length, rest)) = left.split_first() {
        let (string, rest) = rest.split_at(usize::from(*length));
        strings.push(String::from_utf8(string.to_vec()).unwrap());
        left = rest;
    }
    strings.join(" ")
}

/// What could end a string, or mean something to somebody on the way.
const PIECES: [&str; 32] = [
    "'",
    "\"",
    "\\",
    "\\039",
    "\\x27",
    "]]",
    "]==]",
    "[[",
    "--",
    "--[[",
    "\n",
    "\r",
    "\t",
    "\u{0}",
    "\u{1b}[31m",
    "\u{7f}",
    "..",
    "os.exit()",
    "ü",
    "\u{ff}\u{80}",
    "\u{fffd}",
    "\u{2028}",
    "\u{202e}",
    "%27",
    "%s%n",
    "${x}",
    "`x`",
    "a",
    " ",
    "{",
    "}",
    "(",
];

/// Texts of up to so many pieces, from a fixed seed.
fn odd_texts(count: usize, most: usize) -> Vec<String> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    (0..count).map(|_| (0..draw(most)).map(|_| PIECES[draw(PIECES.len())]).collect()).collect()
}

#[test]
fn ten_thousand_odd_texts_reach_lua_letter_by_letter() {
    let texts = odd_texts(10_000, 40);
    let bodies = texts.iter().map(|text| {
        let options = Options { contains: Some(text.clone()), ..Options::default() };
        body(
            &lua::record(Rtype::A, &url_up("http://a/", vec![addresses(&["192.0.2.1"])], options), OLD)
                .unwrap(),
        )
    });
    let folder = tempfile::tempdir().unwrap();
    let (file, program) = (folder.path().join("bodies"), folder.path().join("program.lua"));
    fs::write(&file, bodies.collect::<Vec<_>>().join("\n")).unwrap();
    fs::write(
        &program,
        "function ifurlup(url, groups, options)
           print((options.stringmatch:gsub('.', function(c) return string.format('%02x', c:byte()) end)))
         end
         for line in io.lines(arg[1]) do assert(loadstring('return ' .. line))() end",
    )
    .unwrap();
    let output = call("lua5.1", "lua5.1", &[program.to_str().unwrap(), file.to_str().unwrap()]).unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let wanted =
        texts.iter().map(|text| text.bytes().map(|octet| format!("{octet:02x}")).collect::<String>());
    assert!(shown.lines().map(str::to_owned).eq(wanted), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A record whose body tells a text of ours instead of checking with it. Everything behind the first string
/// is ours, letter by letter.
const TELLING: &str = "; local function ifurlup(u,g,o) local t=o.stringmatch \
    if o.useragent and (u~='http://'..t or o.useragent~=t) then return 'differs' end \
    t=t:gsub('.',function(c) return string.format('%02x',c:byte()) end) local r={} \
    for i=0,#t,200 do r[#r+1]=i..':'..t:sub(i+1,i+200) end return r end return ";

/// Such a record for a text, which is in every place that takes one, or only where it may be long.
fn telling(text: &str, is_everywhere: bool) -> Rdata {
    let check = UrlUp {
        url: if is_everywhere { format!("http://{text}") } else { "http://a/".to_owned() },
        groups: vec![addresses(&["192.0.2.1"])],
        options: Options {
            contains: Some(text.to_owned()),
            user_agent: is_everywhere.then(|| text.to_owned()),
            ..Options::default()
        },
    };
    let ours = lua::record(Rtype::TXT, &Expression::UrlUp(check), OLD).unwrap();
    let (rtype, strings) = ours.wire().split_at(2);
    let (one, other) = TELLING.split_at(TELLING.find("t=t:gsub").unwrap());
    let string = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    Rdata::from_wire(LUA, &[rtype, &string(one), &string(other), strings].concat()).unwrap()
}

/// A text as such a body tells it.
fn told(text: &str) -> Vec<String> {
    let digits: String = text.bytes().map(|octet| format!("{octet:02x}")).collect();
    let piece = |at: usize| format!("{at}:{}", &digits[at..digits.len().min(at + 200)]);
    let mut pieces: Vec<String> = (0..=digits.len()).step_by(200).map(piece).collect();
    pieces.sort();
    pieces
}

/// That much telling takes more instructions than a body of ours may have.
const TELLING_SERVER: &str = "enable-lua-records=shared\nlua-records-exec-limit=0";

#[test]
fn ten_thousand_hostile_texts_are_read_back_and_run_as_they_are() {
    // Of some 80 octets: what PowerDNS tells of them fits into a packet.
    let texts = odd_texts(10_000, 24);
    for (store, texts) in Store::ALL.into_iter().zip(texts.chunks(5_000)) {
        let server = PowerDns::with(store, TELLING_SERVER).unwrap();
        let provider = server.provider().unwrap();
        open(&provider, "lua.test.").unwrap();
        let named = |at: usize| name(&format!("t{at:04}.lua.test."));
        let sets = texts
            .iter()
            .enumerate()
            .map(|(at, text)| RecordSet::new(named(at), LUA, 30, vec![telling(text, true)]));
        let sets: Vec<RecordSet> = sets.collect();
        write_by_hand(&server, "lua.test.", &sets);
        assert_eq!(content(&provider, "lua.test."), sets, "{store:?}");
        let questions: Vec<_> =
            (0..texts.len()).map(|at| question(&format!("t{at:04}.lua.test"), 16, None)).collect();
        for (text, reply) in texts.iter().zip(ask_many(server.dns(), &questions).unwrap()) {
            let wanted: Vec<String> = told(text).iter().map(|piece| format!("TXT {piece}")).collect();
            assert_eq!(reply.records, wanted, "{store:?}: {text:?}");
        }
    }
}

#[test]
fn a_long_hostile_text_is_run_as_it_is() {
    let server = PowerDns::with(Store::Lmdb, TELLING_SERVER).unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "lua.test.").unwrap();
    // As much of each as is written: what PowerDNS would not run to its end is not.
    let texts = ["'".repeat(700), "a'".repeat(140), "a%ü\n".repeat(70), "it's \"up\" ".repeat(40)];
    let sets: Vec<RecordSet> = (0..)
        .zip(&texts)
        .map(|(at, text)| {
            RecordSet::new(name(&format!("t{at}.lua.test.")), LUA, 30, vec![telling(text, false)])
        })
        .collect();
    write_by_hand(&server, "lua.test.", &sets);
    assert_eq!(content(&provider, "lua.test."), sets);
    for (at, text) in texts.iter().enumerate() {
        let answer = dig(server.dns(), &format!("t{at}.lua.test TXT +tcp")).unwrap();
        let wanted: Vec<String> = told(text).iter().map(|piece| format!("\"{piece}\"")).collect();
        assert_eq!(answer.data("TXT"), wanted, "{answer:?}");
    }
}
