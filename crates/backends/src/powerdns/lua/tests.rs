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
