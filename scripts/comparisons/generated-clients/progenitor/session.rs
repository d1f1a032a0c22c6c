//! A session with the client that progenitor generates. Exits with 1 at the first unexpected result.

use std::env::var;
use std::fmt::Debug;

use reqwest::header::{HeaderMap, HeaderValue, AUTHORIZATION};

// Enums as strings, because responses may contain new values.
progenitor::generate_api!(
    spec = "openapi-3.0.yaml",
    interface = Builder,
    replace = { PetStatus = String, ErrorCode = String },
);

const EXACT: i64 = i64::MAX;

type Failure = progenitor_client::Error<types::Error>;

#[tokio::main]
async fn main() {
    let key = value("KEY");
    let store = open("URL", &key);

    let once = value("IDEMPOTENCY_KEY");
    let create = || {
        let zoe = types::NewPet::builder()
            .name("Zoë")
            .category_id(EXACT)
            .status("sold".to_string());
        store
            .create_pet()
            .idempotency_key(once.as_str())
            .body(zoe)
            .send()
    };
    let created = create().await.unwrap().into_inner();
    let read = store
        .get_pet()
        .pet_id(*created.id)
        .send()
        .await
        .unwrap()
        .into_inner();
    let is_zoe = read.name.as_str() == "Zoë"
        && *read.category_id == EXACT
        && read.status.as_deref() == Some("sold");
    expect("create and read", is_zoe, &read);
    let again = create().await.unwrap();
    expect("create again", *again.id == *created.id, &again);
    let bo = types::NewPet::builder().name("Bo").category_id(i64::MIN);
    store.create_pet().body(bo).send().await.unwrap();

    let first = store.list_pets().limit(1).send().await.unwrap();
    let second = store
        .list_pets()
        .limit(1)
        .after(first[0].id.clone())
        .send()
        .await
        .unwrap();
    let is_next = first.len() == 1 && second.len() == 1 && *second[0].id > *first[0].id;
    expect("next page", is_next, &second);

    refused(
        "400",
        store.list_pets().limit(101).send().await,
        "invalid_request",
    );
    refused(
        "401",
        open("URL", "wrong").list_pets().send().await,
        "invalid_api_key",
    );
    refused(
        "404",
        store.get_pet().pet_id(EXACT).send().await,
        "pet_not_found",
    );

    let free = open("URL", &value("FREE_KEY"));
    let spent = loop {
        let answer = free.list_pets().send().await;
        if answer.is_err() {
            break answer;
        }
    };
    let headers = refused("429", spent, "rate_limit_exceeded");
    expect(
        "Retry-After",
        text(&headers, "retry-after").parse::<u32>().unwrap() > 0,
        &headers,
    );

    let future = open("FUTURE_URL", &key);
    let page = future.list_pets().send().await.unwrap();
    let is_new = page[0].name.as_str() == "Rex" && page[0].status.as_deref() == Some("reserved");
    expect("new field and status", is_new, &page);
    refused(
        "new error code",
        future.get_pet().pet_id(1).send().await,
        "pet_reserved",
    );
}

fn value(name: &str) -> String {
    var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn open(address: &str, key: &str) -> Client {
    let authorization = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
    let headers = HeaderMap::from_iter([(AUTHORIZATION, authorization)]);
    let http = reqwest::Client::builder()
        .default_headers(headers)
        .build()
        .unwrap();
    Client::new_with_client(&value(address), http)
}

fn refused<Answer: Debug>(label: &str, answer: Result<Answer, Failure>, code: &str) -> HeaderMap {
    match answer {
        Err(Failure::ErrorResponse(error)) => {
            expect(
                label,
                error.code == code && !error.message.is_empty(),
                &error,
            );
            error.headers().clone()
        }
        other => panic!("{label}: {other:?}"),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers[name].to_str().unwrap()
}

fn expect(label: &str, ok: bool, actual: impl Debug) {
    assert!(ok, "{label}: {actual:?}");
    println!("{label}");
}
