//! LOC (RFC 1876) as PowerDNS writes it.

use super::field::{split, take};

/// The equator and the prime meridian.
const ORIGIN: i64 = 1 << 31;
/// The reference spheroid is this many centimetres above the lowest altitude.
const BELOW: i64 = 10_000_000;

/// Data as text.
pub(super) fn print(mut wire: &[u8]) -> Option<String> {
    let [0, size, horizontal, vertical] = *take(&mut wire, 4)? else { return None };
    let mut number = || Some(i64::from(u32::from_be_bytes(take(&mut wire, 4)?.try_into().ok()?)));
    let (latitude, longitude, altitude) = (number()? - ORIGIN, number()? - ORIGIN, number()? - BELOW);
    let sign = if altitude < 0 { "-" } else { "" };
    let metres = format!("{sign}{}.{:02}m", altitude.abs() / 100, altitude.abs() % 100);
    let sizes = [size, horizontal, vertical].map(|octet| precision(octet).map(|text| format!(" {text}m")));
    let sizes: String = sizes.into_iter().collect::<Option<_>>()?;
    Some(format!("{} {} {metres}{sizes}", angle(latitude, 'N', 'S'), angle(longitude, 'E', 'W')))
}

fn angle(thousandths: i64, positive: char, negative: char) -> String {
    let side = if thousandths < 0 { negative } else { positive };
    let (seconds, thousandths) = (thousandths.abs() / 1000, thousandths.abs() % 1000);
    format!("{} {} {}.{thousandths:03} {side}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A digit and a power of ten, in centimetres.
fn precision(octet: u8) -> Option<String> {
    let (digit, power) = (u64::from(octet >> 4), u32::from(octet & 15));
    let centimetres = (digit <= 9 && power <= 9).then(|| digit * 10u64.pow(power))?;
    Some(format!("{}.{:02}", centimetres / 100, centimetres % 100))
}

/// Data from text.
pub(super) fn parse(text: &str) -> Option<Vec<u8>> {
    let words = split(text)?;
    let [north, south @ .., altitude, size, horizontal, vertical] = words.as_slice() else { return None };
    let [minutes, seconds, side, degrees_east, minutes_east, seconds_east, side_east] = south else {
        return None;
    };
    let mut wire = vec![0];
    for word in [size, horizontal, vertical] {
        wire.push(packed(fixed(word.strip_suffix('m')?, 2)?)?);
    }
    let latitude = signed(from_angle([north, minutes, seconds])?, side, "N", "S")?;
    let longitude = signed(from_angle([degrees_east, minutes_east, seconds_east])?, side_east, "E", "W")?;
    for number in [latitude + ORIGIN, longitude + ORIGIN, fixed(altitude.strip_suffix('m')?, 2)? + BELOW] {
        wire.extend(u32::try_from(number).ok()?.to_be_bytes());
    }
    Some(wire)
}

fn from_angle([degrees, minutes, seconds]: [&str; 3]) -> Option<i64> {
    let (degrees, minutes) = (degrees.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    Some((i64::from(degrees) * 3600 + i64::from(minutes) * 60) * 1000 + fixed(seconds, 3)?)
}

fn signed(angle: i64, side: &str, positive: &str, negative: &str) -> Option<i64> {
    (side == positive).then_some(angle).or_else(|| (side == negative).then_some(-angle))
}

/// A decimal number in units of its last place.
fn fixed(text: &str, places: usize) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.trim_start_matches('-');
    let all = format!("{digits}{fraction:0<places$}");
    let fits = fraction.len() <= places && all.len() <= 12 && all.bytes().all(|octet| octet.is_ascii_digit());
    let number: i64 = fits.then(|| all.parse().ok())??;
    Some(if whole.starts_with('-') { -number } else { number })
}

fn packed(centimetres: i64) -> Option<u8> {
    let (mut digit, mut power) = (centimetres, 0u8);
    while digit > 9 {
        (digit % 10 == 0).then_some(())?;
        (digit, power) = (digit / 10, power + 1);
    }
    u8::try_from(digit).ok().filter(|_| power <= 9).map(|digit| digit << 4 | power)
}
