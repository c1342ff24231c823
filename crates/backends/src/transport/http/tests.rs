#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::transport::guard::Names;

/// PROMISES 24: every way to write such an address, as `testdata` lists them.
const FORMS: &str = include_str!("../../../../../testdata/targets/inward.txt");

fn urls() -> Vec<&'static str> {
    let forms = FORMS.lines().filter(|line| !line.starts_with('#'));
    forms.filter_map(|line| line.split(' ').next()).collect()
}

fn client(guard: Guard) -> HttpClient {
    HttpClient::new(Arc::new(guard), Duration::from_secs(5), &Trust::default()).unwrap()
}

async fn sent(client: &HttpClient, url: &str) -> Result<Answer, Failure> {
    client.send(Request::get(url).body(Full::default()).unwrap()).await
}

/// A server on loopback that says this to everybody; and how many came.
fn server(address: &str, text: String) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(address).unwrap();
    let (address, came) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let count = came.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 2048]);
            let _ = stream.write_all(text.as_bytes());
        }
    });
    (address, came)
}

#[tokio::test]
async fn no_tenant_s_object_makes_us_connect_to_loopback_link_local_metadata_or_the_api_server() {
    let client = client(Guard::default());
    assert!(urls().len() >= 200);
    for url in urls() {
        // What is no URL at all cannot be asked.
        let Ok(request) = Request::get(url).body(Full::default()) else { continue };
        let host = request.uri().host().unwrap().to_owned();
        assert_eq!(client.send(request).await.unwrap_err(), Failure::Forbidden, "{url}");
        assert_eq!(client.guard().resolve(&host, 80).await, Err(Failure::Forbidden), "{url}");
    }
}

#[tokio::test]
async fn a_server_that_redirects_inward_is_not_followed() {
    let (inner, came) = server("127.0.0.1:0", String::new());
    let elsewhere = format!("HTTP/1.1 302 Found\r\nLocation: http://{inner}/\r\nContent-Length: 0\r\n\r\n");
    let (outer, _) = server("127.0.0.2:0", elsewhere);
    let client = client(Guard::allowing(["127.0.0.2/32".parse().unwrap()]));
    let answer = sent(&client, &format!("http://{outer}/")).await.unwrap();
    assert_eq!(answer.failure(), Failure::Redirected);
    assert_eq!(came.load(Ordering::SeqCst), 0);
}

/// A name that is judged has the addresses that are connected to, and is asked for once.
#[tokio::test]
async fn a_name_that_changes_its_mind_gains_nothing() {
    let good = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (outer, came_out) = server("127.0.0.2:0", good.to_owned());
    let (inner, came_in) = server(&format!("127.0.0.1:{}", outer.port()), good.to_owned());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    // First what is allowed, ever after what is not.
    let names = Names::told_by(move |_, _| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(vec![outer]),
        _ => Ok(vec![outer, inner]),
    });
    let client = client(Guard { names, ..Guard::allowing(["127.0.0.2/32".parse().unwrap()]) });
    let url = format!("http://rebinding.example:{}/", outer.port());
    assert_eq!(sent(&client, &url).await.unwrap().status, StatusCode::OK);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "judged and connected to by one answer");
    assert_eq!(sent(&client, &url).await.unwrap_err(), Failure::Forbidden);
    assert_eq!((came_out.load(Ordering::SeqCst), came_in.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_told_with_its_cause() {
    let mut guard = Guard::default();
    guard.allow_loopback();
    guard.names = Names::told_by(|host, port| {
        let address = host.parse().map_err(|_| std::io::Error::other("no such host"))?;
        Ok(vec![SocketAddr::new(address, port)])
    });
    let client = client(guard);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (closing, _) = server("127.0.0.1:0", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".to_owned());
    let (speechless, _) = server("127.0.0.1:0", "SSH-2.0-OpenSSH\r\n".to_owned());
    let (tls, _) = server("127.0.0.1:0", "HTTP/1.1 400 Bad Request\r\n\r\n".to_owned());
    for (url, cause) in [
        (format!("http://{free}/"), Failure::Unreachable(Obstacle::Refused)),
        (format!("http://{closing}/"), Failure::Unreachable(Obstacle::Closed)),
        (format!("http://{speechless}/"), Failure::Unreachable(Obstacle::NoHttp)),
        (format!("https://{tls}/"), Failure::Untrusted(Mistrust::Other)),
        ("http://nowhere.example/".to_owned(), Failure::Unreachable(Obstacle::UnknownHost)),
    ] {
        assert_eq!(sent(&client, &url).await.unwrap_err(), cause, "{url}");
    }
}

#[test]
fn a_certificate_that_is_not_trusted_is_told_with_its_cause() {
    use rustls::CertificateError;
    let told = |error| Failure::from(&rustls::Error::InvalidCertificate(error)).to_string();
    assert!(
        told(CertificateError::UnknownIssuer)
            .contains("unknown authority; name it by caSecretRef, by ca.crt in the Secret, or by --ca-file")
    );
    // The authority was made again under its old name.
    assert!(told(CertificateError::BadSignature).contains("unknown authority"));
    assert!(told(CertificateError::NotValidForName).contains("another host name"));
    assert!(told(CertificateError::Expired).contains("expired"));
    let alert = rustls::Error::AlertReceived(rustls::AlertDescription::UnknownCA);
    assert!(Failure::from(&alert).to_string().contains("does not accept our certificate"));
}
