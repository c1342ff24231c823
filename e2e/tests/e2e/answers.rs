//! What the examples answer, asked with `dig`.

use anyhow::Result;
use e2e::{Options, Up, call, dig, example};

const SHOP: &str = "web-ns-p-prod-shop.apps.example.com";
const ADMIN: &str = "console-ns-p-prod-admin.apps.example.com";
const WEU: &str = "192.0.2.10";
const NEU: &str = "198.51.100.10";

#[test]
fn quickstart_answers_the_whole_chain_over_udp_and_tcp() -> Result<()> {
    let up = Up::start(Options::folder(&example("quickstart")))?;
    for transport in ["+notcp", "+tcp"] {
        let reply = dig(up.dns(0), &format!("www.example.org A {transport}"))?;
        assert_eq!(reply.status, "NOERROR");
        assert!(reply.flags.contains(&"aa".to_owned()), "{reply:?}");
        assert_eq!(
            reply.answer,
            [
                "www.example.org. 300 IN CNAME web-ns-p-prod-shop.example.org.",
                "web-ns-p-prod-shop.example.org. 300 IN CNAME aks01-weu-public.example.org.",
                "aks01-weu-public.example.org. 300 IN A 192.0.2.10",
            ]
        );
    }
    Ok(())
}

#[test]
fn quickstart_answers_ipv6_and_the_other_route() -> Result<()> {
    let up = Up::start(Options::folder(&example("quickstart")))?;
    let reply = dig(up.dns(0), "api-ns-p-prod-shop.example.org AAAA")?;
    assert_eq!(reply.data("AAAA"), ["2001:db8::10"]);
    Ok(())
}

#[test]
fn quickstart_says_no_with_the_soa_and_refuses_what_is_not_its_own() -> Result<()> {
    let up = Up::start(Options::folder(&example("quickstart")))?;
    let missing = dig(up.dns(0), "nothing-here.example.org A")?;
    assert_eq!((missing.status.as_str(), missing.authority.len()), ("NXDOMAIN", 1));
    assert!(missing.authority[0].contains("SOA ns1.example.org. hostmaster.example.org."), "{missing:?}");
    assert_eq!(dig(up.dns(0), "www.example.com A")?.status, "REFUSED");
    Ok(())
}

#[test]
fn another_client_reads_the_same_with_edns_over_tcp() -> Result<()> {
    let up = Up::start(Options::folder(&example("quickstart")))?;
    let server = format!("@{}", up.address());
    let arguments = [&server, "-p", "5300", "+tcp", "+edns", "+short", "www.example.org", "AAAA"];
    let output = call("kdig", "knot-dnsutils", &arguments)?;
    let text = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{text}");
    assert_eq!(text.lines().last(), Some("2001:db8::10"));
    Ok(())
}

#[test]
fn quickstart_tells_what_it_serves_and_what_to_try() -> Result<()> {
    let up = Up::start(Options::folder(&example("quickstart")))?;
    up.wait_for_output(&format!("dig @{} -p 5300", up.address()))?;
    assert!(up.get("/metrics")?.contains("fingerpost_"));
    assert!(up.get("/api/v1/recordsets")?.contains("www.example.org"));
    Ok(())
}

#[test]
fn active_policy_answers_with_the_regions_own_cluster() -> Result<()> {
    let up = regions()?;
    assert_eq!(dig(up.dns(0), SHOP)?.data("A"), [WEU]);
    assert_eq!(dig(up.dns(1), SHOP)?.data("A"), [NEU]);
    Ok(())
}

#[test]
fn adopted_region_answers_with_the_adopting_cluster() -> Result<()> {
    let up = regions()?;
    let reply = dig(up.dns(2), SHOP)?;
    assert_eq!(reply.data("A"), [WEU]);
    assert_eq!(reply.data("CNAME"), ["vec-weu-p-aks01-weu-internal.apps.example.com."]);
    Ok(())
}

#[test]
fn region_bound_policy_answers_with_its_source_everywhere() -> Result<()> {
    let up = regions()?;
    for view in 0..3 {
        assert_eq!(dig(up.dns(view), ADMIN)?.data("A"), [WEU], "view {view}");
    }
    Ok(())
}

#[test]
fn every_gateway_is_known_in_every_region() -> Result<()> {
    let up = regions()?;
    for view in 0..3 {
        let weu = dig(up.dns(view), "vec-weu-p-aks01-weu-internal.apps.example.com AAAA")?;
        let neu = dig(up.dns(view), "vec-neu-p-aks02-neu-internal.apps.example.com AAAA")?;
        assert_eq!(
            (weu.data("AAAA"), neu.data("AAAA")),
            (vec!["2001:db8:1::10".into()], vec!["2001:db8:2::10".into()])
        );
    }
    Ok(())
}

#[test]
fn sub_zone_answers_with_its_own_authority() -> Result<()> {
    let up = Up::start(Options::folder(&example("zones")))?;
    assert_eq!(
        dig(up.dns(0), "www.shop.example.org A")?.answer,
        ["www.shop.example.org. 60 IN A 203.0.113.80"]
    );
    assert_eq!(dig(up.dns(0), "shop.example.org NS")?.data("NS"), ["ns1.shop.example.org."]);
    let wildcard = dig(up.dns(0), "anything.shop.example.org A")?;
    assert_eq!(
        (wildcard.data("CNAME"), wildcard.data("A")),
        (vec!["www.shop.example.org.".into()], vec!["203.0.113.80".into()])
    );
    Ok(())
}

#[test]
fn delegation_to_others_is_a_referral_with_glue() -> Result<()> {
    let up = Up::start(Options::folder(&example("zones")))?;
    let reply = dig(up.dns(0), "host.partner.example.org A")?;
    assert_eq!(reply.status, "NOERROR");
    assert!(reply.answer.is_empty() && !reply.flags.contains(&"aa".to_owned()), "{reply:?}");
    assert_eq!(reply.authority, ["partner.example.org. 3600 IN NS ns1.partner.example.org."]);
    assert_eq!(reply.additional, ["ns1.partner.example.org. 3600 IN A 203.0.113.53"]);
    Ok(())
}

#[test]
fn delegated_record_is_served_and_a_refused_one_is_not() -> Result<()> {
    let up = Up::start(Options::folder(&example("zones")))?;
    assert_eq!(dig(up.dns(0), "www.example.org A")?.data("A"), ["192.0.2.80"]);
    assert_eq!(dig(up.dns(0), "verification.example.org TXT")?.status, "NXDOMAIN");
    Ok(())
}

#[test]
fn zone_file_is_served_with_generated_and_included_names() -> Result<()> {
    let up = Up::start(Options::folder(&example("zones")))?;
    assert_eq!(dig(up.dns(0), "host-7.example.net A")?.data("A"), ["198.51.100.7"]);
    let scanner = dig(up.dns(0), "scanner.office.example.net A")?;
    assert_eq!(scanner.data("CNAME"), ["printer.office.example.net."]);
    assert!(
        scanner.answer.contains(&"printer.office.example.net. 600 IN A 198.51.100.201".to_owned()),
        "{scanner:?}"
    );
    Ok(())
}

fn regions() -> Result<Up> {
    Up::start(Options::clusters(&[("weu", example("regions/weu")), ("neu", example("regions/neu"))]))
}
