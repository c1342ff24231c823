#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::content::content;
use super::*;

const OLD: Version = Version { major: 4, minor: 7 };
const NEW: Version = Version { major: 5, minor: 0 };

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn url_up(url: &str, options: Options) -> Expression {
    let groups = vec![addresses(&["192.0.2.1"]), addresses(&["192.0.2.2", "192.0.2.3"])];
    Expression::UrlUp(UrlUp { url: url.to_owned(), groups, options })
}

fn shown(expression: &Expression, version: Version) -> String {
    content(&record(Rtype::A, expression, version).unwrap())
}

#[test]
fn ordered_groups_are_tables_in_a_table() {
    assert_eq!(
        shown(&url_up("https://a.example/up", Options::default()), OLD),
        "A \"ifurlup('https://a.example/up',{{'192.0.2.1'},{'192.0.2.2','192.0.2.3'}},\
         {selector='all',backupSelector='all'})\""
    );
}

#[test]
fn a_draw_of_several_addresses_draws_their_place() {
    let members =
        vec![(80, addresses(&["192.0.2.1", "192.0.2.2"])), (20, addresses(&["192.0.2.3"])), (0, vec![])];
    let draw = Expression::Weighted(Weighted { sticky: true, members });
    assert_eq!(
        shown(&draw, OLD),
        "A \"({{'192.0.2.1','192.0.2.2'},{'192.0.2.3'}})[tonumber(pickwhashed({{80,'1'},{20,'2'}}))]\""
    );
}

#[test]
fn an_option_that_the_version_lacks_is_named() {
    let options = Options { interval: Some(5), ..Options::default() };
    let expression = url_up("http://a/", options);
    assert_eq!(record(Rtype::A, &expression, OLD), Err(LuaError::TooOld("interval", NEW)));
    assert!(shown(&expression, NEW).contains("interval='5'"));
    let ports = PortUp { port: 443, groups: vec![addresses(&["::1"]); 2], options: Options::default() };
    let error = record(Rtype::AAAA, &Expression::PortUp(ports), OLD).unwrap_err();
    assert_eq!(error.to_string(), "PowerDNS has groups of addresses for a port only from version 4.8 on");
}

#[test]
fn places_within_a_place_are_kept_together() {
    let all = |text: &str| Expression::All(addresses(&[text]));
    let country = |code: &str, then, otherwise| {
        Expression::Places(vec![(Place::Country(code.to_owned()), then)], Box::new(otherwise))
    };
    let inner = || country("IE", all("192.0.2.1"), all("192.0.2.2"));
    let nested = Expression::Places(vec![(Place::Continent("EU".to_owned()), inner())], Box::new(inner()));
    assert_eq!(
        shown(&nested, OLD),
        "A \"continent('EU') and (country('IE') and all({'192.0.2.1'}) or all({'192.0.2.2'})) or \
         country('IE') and all({'192.0.2.1'}) or all({'192.0.2.2'})\""
    );
}

#[test]
fn what_has_no_answer_is_no_record() {
    let empty = Expression::Places(vec![], Box::new(Expression::All(vec![])));
    assert_eq!(record(Rtype::A, &empty, NEW), Err(LuaError::Empty));
    let place = Place::Country("I'E".to_owned());
    let places =
        Expression::Places(vec![(place, Expression::All(addresses(&["192.0.2.1"])))], Box::new(empty));
    assert_eq!(record(Rtype::A, &places, NEW), Err(LuaError::Place));
    assert_eq!(record(Rtype::A, &url_up("file:///etc/passwd", Options::default()), NEW), Err(LuaError::Url));
}

proptest::proptest! {
    /// A body holds no mark that could end a string of PowerDNS's or of Lua's, and reads back the same.
    #[test]
    fn no_text_gets_out_of_its_string(text in "\\PC{0,60}", agent in proptest::collection::vec(proptest::num::u8::ANY, 0..100)) {
        let agent = String::from_utf8_lossy(&agent).into_owned();
        let options = Options { contains: Some(text), user_agent: Some(agent), ..Options::default() };
        let data = record(Rtype::A, &url_up("http://a/", options), OLD).unwrap();
        let shown = content(&data);
        proptest::prop_assert!(shown.is_ascii() && !shown.contains('\\'));
        proptest::prop_assert_eq!(super::super::content::parse(super::super::content::LUA, &shown), Some(data));
    }
}

fn written(entry: Entry) -> Result<String, crate::Failure> {
    let change = crate::SetChange { key: crate::SetKey::of(&entry.set), before: None, after: Some(entry) };
    super::super::request::rrset(&change, 1)
}

#[test]
fn a_lua_record_is_written_from_a_program_alone() {
    let name = Name::parse("www.example.org").unwrap();
    let expression = Expression::All(vec!["192.0.2.1".parse().unwrap()]);
    let program = || Program::new([(Rtype::A, &expression)], Version { major: 4, minor: 7 }).unwrap();
    let typed = program().at(name.clone(), 30);
    assert!(written(typed.clone()).unwrap().contains(r#""type":"LUA""#));

    // The same data without the program, and a program with other data.
    let plain = Entry::from(typed.set.clone());
    assert_eq!(plain, typed, "a set that is read back equals the one that was written");
    assert_eq!(written(plain), Err(crate::provider::EXECUTED));
    let evil = Rdata::from_wire(LUA, b"\0\x01\x0fos.execute('id')"[..18].as_ref()).unwrap();
    let mut tampered = typed;
    tampered.set = RecordSet::new(name, LUA, 30, vec![evil]);
    assert_eq!(written(tampered), Err(crate::provider::EXECUTED));
}

#[test]
fn no_plain_set_carries_a_type_for_private_use() {
    let name = Name::parse("www.example.org").unwrap();
    for rtype in [65280, 65400, 65401, 65402, 65534].map(Rtype) {
        let data = Rdata::from_wire(rtype, &[0]).unwrap();
        let set = RecordSet::new(name.clone(), rtype, 30, vec![data.clone()]);
        assert_eq!(written(set.into()), Err(crate::provider::EXECUTED));
        // Data of such a type inside of a set that says to have another.
        let disguised =
            RecordSet { rtype: Rtype::TXT, ..RecordSet::new(name.clone(), rtype, 30, vec![data]) };
        assert_eq!(written(disguised.into()), Err(crate::provider::EXECUTED));
    }
}
