//! The shapes that a body can have: every node of the typed tree, with every option, alone and below places.

use std::net::{IpAddr, Ipv4Addr};

use backends::powerdns::Version;
use backends::powerdns::lua::{Expression, Options, Place, PortUp, Selector, UrlUp, Weighted};

use crate::powerdns_steering::target::PAGE;

/// The host that every target answers for, and where.
pub(super) const HOST: &str = "app.bodies.test";
pub(super) const PAGE_PORT: u16 = 8080;
pub(super) const TLS_PORT: u16 = 8443;
/// A page that is not there, which is what some want to see.
pub(super) const MISSING: &str = "/missing";
/// A port that no target listens on.
pub(super) const PORT_OF_NOBODY: u16 = 9;

const GROUPS: Version = Version { major: 4, minor: 8 };
const EXACT: Version = Version { major: 5, minor: 0 };
const SELECTORS: [Selector; 4] = [Selector::All, Selector::Random, Selector::Hashed, Selector::Closest];

/// A body to be.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) title: String,
    pub(super) expression: Expression,
    /// The version that it is written for.
    pub(super) version: Version,
}

/// All shapes that a server of this version runs, on these targets.
pub(super) fn all(targets: [IpAddr; 3], version: Version) -> Vec<Shape> {
    let plain = [unchecked(targets), pages(targets), ports(targets, version)].concat();
    let by_place = places(targets);
    // Options that an older server passes over are for a newer one.
    let newer = exact(targets, version).into_iter().map(|(title, one)| (title, one, version.max(EXACT)));
    let usual = plain.into_iter().chain(by_place).map(|(title, one)| (title, one, version));
    usual.chain(newer).map(|(title, expression, version)| Shape { title, expression, version }).collect()
}

/// Shapes with this many addresses, or a text that is as long.
pub(super) fn large(count: usize, version: Version) -> Vec<Shape> {
    let address = |at: usize| IpAddr::from(Ipv4Addr::from_bits(0x0a00_0000 + at as u32));
    let addresses: Vec<IpAddr> = (0..count).map(address).collect();
    let members: Vec<_> = addresses.iter().map(|one| (1, vec![*one])).collect();
    let wide: Vec<_> = addresses.chunks(2).map(|pair| (1, pair.to_vec())).collect();
    let odd = Options { contains: Some("a'".repeat(count)), ..Options::default() };
    let one = vec![IpAddr::from(Ipv4Addr::LOCALHOST)];
    let letter = |at: usize| char::from(b'A' + (at % 26) as u8);
    let code = |at: usize| Place::Country([letter(at / 26), letter(at)].iter().collect());
    let other = vec![IpAddr::from(Ipv4Addr::new(127, 0, 0, 2))];
    let check = url(vec![one.clone(), other], selecting(Selector::All));
    let places = (0..count).map(|at| (code(at), check.clone())).collect();
    let shapes: [(&str, Expression); 6] = [
        ("all", Expression::All(addresses.clone())),
        ("closest", Expression::Closest(addresses)),
        ("a draw", Expression::Weighted(Weighted { sticky: true, members })),
        ("a wide draw", Expression::Weighted(Weighted { sticky: false, members: wide })),
        ("a text", url(vec![one], odd)),
        ("places", Expression::Places(places, Box::new(check))),
    ];
    let shape = |(title, expression): (&str, Expression)| Shape { title: title.into(), expression, version };
    shapes.into_iter().map(shape).collect()
}

type Titled = (String, Expression);

fn url(groups: Vec<Vec<IpAddr>>, options: Options) -> Expression {
    Expression::UrlUp(UrlUp { url: format!("http://{HOST}:{PAGE_PORT}/up"), groups, options })
}

fn port(groups: Vec<Vec<IpAddr>>, selector: Selector) -> Expression {
    Expression::PortUp(PortUp { port: PAGE_PORT, groups, options: selecting(selector) })
}

fn selecting(selector: Selector) -> Options {
    Options { selector, timeout: Some(2), ..Options::default() }
}

fn titled(title: impl ToString, expression: Expression) -> Titled {
    (title.to_string(), expression)
}

/// Orders of preference: none, each for itself, and two before one.
fn groupings([one, two, three]: [IpAddr; 3]) -> [Vec<Vec<IpAddr>>; 3] {
    [vec![vec![one, two, three]], vec![vec![one], vec![two], vec![three]], vec![vec![one, two], vec![three]]]
}

fn unchecked(targets: [IpAddr; 3]) -> Vec<Titled> {
    let [one, two, three] = targets;
    let draw = |sticky, members: &[(u32, &[IpAddr])]| {
        let members = members.iter().map(|(weight, some)| (*weight, some.to_vec())).collect();
        Expression::Weighted(Weighted { sticky, members })
    };
    let mut shapes = vec![
        titled("all of one", Expression::All(vec![two])),
        titled("all", Expression::All(targets.to_vec())),
        titled("the closest", Expression::Closest(targets.to_vec())),
        titled("the closest of one", Expression::Closest(vec![three])),
    ];
    for sticky in [true, false] {
        shapes.extend([
            titled("a draw", draw(sticky, &[(80, &[one]), (20, &[two]), (1, &[three])])),
            titled("a draw, one drained", draw(sticky, &[(120, &[one]), (0, &[two])])),
            titled("a draw of several", draw(sticky, &[(3, &[one, two]), (1, &[three]), (0, &[two])])),
            titled("a draw of one for several", draw(sticky, &[(7, &[one, three])])),
            titled("a heavy draw", draw(sticky, &[(i32::MAX as u32 - 1, &[one]), (1, &[two])])),
        ]);
    }
    shapes
}

/// Checks of a page: each selector in each order, by TLS, and with each option.
fn pages(targets: [IpAddr; 3]) -> Vec<Titled> {
    let in_order = |groups: Vec<Vec<IpAddr>>| {
        SELECTORS
            .map(|one| titled(format!("a page, {one:?}, {groups:?}"), url(groups.clone(), selecting(one))))
    };
    let mut shapes: Vec<Titled> = groupings(targets).into_iter().flat_map(in_order).collect();
    for groups in groupings(targets) {
        let tls = format!("https://{HOST}:{TLS_PORT}/up?a=b&c='\"\\");
        let check = UrlUp { url: tls, groups, options: selecting(Selector::All) };
        shapes.push(titled("a page by TLS", Expression::UrlUp(check)));
    }
    let source = if targets[0].is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { mapped(Ipv4Addr::LOCALHOST) };
    let plain = Options::default();
    let options = [
        ("no options", plain.clone()),
        ("a source", Options { source: Some(source), ..plain.clone() }),
        ("a text", Options { contains: Some(PAGE.to_owned()), ..plain.clone() }),
        ("a text that is not there", Options { contains: Some("]]\\'\"".to_owned()), ..plain.clone() }),
        ("somebody", Options { user_agent: Some("it's \"us\" \\ ü".to_owned()), ..plain.clone() }),
        (
            "all",
            Options {
                selector: Selector::All,
                timeout: Some(1),
                source: Some(source),
                contains: Some("'".to_owned()),
                user_agent: Some(String::new()),
                ..plain
            },
        ),
    ];
    for (title, options) in options {
        shapes.push(titled(format!("a page with {title}"), url(groupings(targets)[2].clone(), options)));
    }
    let missing = format!("http://{HOST}:{PAGE_PORT}{MISSING}");
    let groups = groupings(targets)[1].clone();
    shapes.push(titled(
        "a page that is not there",
        Expression::UrlUp(UrlUp { url: missing, groups, options: selecting(Selector::All) }),
    ));
    shapes
}

fn mapped(address: Ipv4Addr) -> IpAddr {
    address.to_ipv6_mapped().into()
}

/// Checks of a port: each selector, and in order where the server has that.
fn ports(targets: [IpAddr; 3], version: Version) -> Vec<Titled> {
    let orders = groupings(targets).into_iter().filter(|groups| groups.len() == 1 || version >= GROUPS);
    let in_order = |groups: Vec<Vec<IpAddr>>| {
        SELECTORS.map(|one| titled(format!("a port, {one:?}, {groups:?}"), port(groups.clone(), one)))
    };
    let mut shapes: Vec<Titled> = orders.flat_map(in_order).collect();
    let nobody =
        PortUp { port: PORT_OF_NOBODY, groups: vec![targets.to_vec()], options: selecting(Selector::Random) };
    shapes.push(titled("a port of nobody", Expression::PortUp(nobody)));
    shapes
}

/// Each kind of node for one country, for its continent, and for everybody else; and places within places.
fn places(targets: [IpAddr; 3]) -> Vec<Titled> {
    let [one, two, three] = targets;
    let draw = |members: Vec<(u32, Vec<IpAddr>)>| Expression::Weighted(Weighted { sticky: true, members });
    let kinds = [
        Expression::All(vec![one]),
        Expression::Closest(vec![two, three]),
        url(vec![vec![one, two], vec![three]], selecting(Selector::All)),
        port(vec![vec![one, three]], Selector::All),
        draw(vec![(1, vec![one]), (2, vec![two])]),
        draw(vec![(1, vec![one, two]), (2, vec![three])]),
    ];
    let (country, continent) =
        (|code: &str| Place::Country(code.to_owned()), |code: &str| Place::Continent(code.to_owned()));
    let kind = |at: usize| kinds[at % kinds.len()].clone();
    let by_place = |at: usize| {
        let choices = vec![(country("ie"), kind(at)), (continent("EU"), kind(at + 1))];
        titled(format!("places {at}"), Expression::Places(choices, Box::new(kind(at + 2))))
    };
    let mut shapes: Vec<Titled> = (0..kinds.len()).map(by_place).collect();
    let inner = Expression::Places(vec![(country("DE"), kind(0))], Box::new(kind(2)));
    let nested =
        Expression::Places(vec![(continent("EU"), inner.clone()), (country("US"), kind(3))], Box::new(inner));
    shapes.push(titled("places within places", nested));
    shapes.push(titled("no places", Expression::Places(Vec::new(), Box::new(kind(5)))));
    shapes
}

/// What came with 5.0.
fn exact(targets: [IpAddr; 3], version: Version) -> Vec<Titled> {
    let plain = selecting(Selector::All);
    let options = [
        Options { failures: Some(2), ..plain.clone() },
        Options { interval: Some(2), ..plain.clone() },
        Options { code: Some(200), ..plain.clone() },
        Options { failures: Some(1), interval: Some(1), code: Some(200), ..plain.clone() },
    ];
    let shape = |one: Options| {
        let title = format!("exactly {:?} {:?} {:?}", one.failures, one.interval, one.code);
        titled(title, url(groupings(targets)[2].clone(), one))
    };
    let mut shapes: Vec<Titled> = options.into_iter().map(shape).collect();
    let failing = Options { failures: Some(2), interval: Some(1), ..plain.clone() };
    let check = PortUp { port: PAGE_PORT, groups: vec![targets.to_vec()], options: failing };
    shapes.push(titled("exactly a port", Expression::PortUp(check)));
    let missing = UrlUp {
        url: format!("http://{HOST}:{PAGE_PORT}{MISSING}"),
        groups: groupings(targets)[1].clone(),
        options: Options { code: Some(404), ..plain },
    };
    shapes.push(titled(format!("a page that is to be missing, {version:?}"), Expression::UrlUp(missing)));
    shapes
}
