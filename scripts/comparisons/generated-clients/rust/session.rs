//! A session with the client that openapi-generator generates for Rust. Exits with 1 at the first unexpected result.

use std::env::var;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use animals::apis::animals_api::{create_pet, get_pet, list_pets};
use animals::apis::configuration::Configuration;
use animals::apis::Error;
use animals::models::{self, ErrorCode, NewPet, Pet, PetStatus};
use http::Extensions;
use reqwest::header::HeaderMap;
use reqwest::{Client, Request, Response};
use reqwest_middleware::{ClientBuilder, Middleware, Next};

/// The headers of the last response, because the client's functions do not return them.
#[derive(Clone, Default)]
struct Headers(Arc<Mutex<HeaderMap>>);

#[async_trait::async_trait]
impl Middleware for Headers {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        let response = next.run(request, extensions).await?;
        *self.0.lock().unwrap() = response.headers().clone();
        Ok(response)
    }
}

impl Headers {
    fn get(&self, name: &str) -> String {
        let headers = self.0.lock().unwrap();
        headers[name].to_str().unwrap().to_string()
    }
}

#[tokio::main]
#[allow(deprecated)] // getPet
async fn main() {
    let (store, _) = open("URL", &value("KEY"));
    let once = value("IDEMPOTENCY_KEY");
    let mut zoe = NewPet::new("Zoë".to_string(), i64::MAX);
    zoe.status = Some(PetStatus::Sold);
    let created = create_pet(&store, zoe.clone(), Some(&once), None).await.unwrap();
    let read = get_pet(&store, created.id, None).await.unwrap();
    let mut exact = Pet::new(created.id, "Zoë".to_string(), i64::MAX);
    exact.status = Some(PetStatus::Sold);
    expect("create and read", read == exact, &read);
    let again = create_pet(&store, zoe, Some(&once), None).await.unwrap();
    expect("create again", again.id == created.id, &again);
    let bo = NewPet::new("Bo".to_string(), i64::MIN);
    let least = create_pet(&store, bo, None, None).await.unwrap();
    expect("the least int64", least.category_id == i64::MIN, &least);

    let first = list_pets(&store, Some(1), None, None, None).await.unwrap();
    let second = list_pets(&store, Some(1), None, Some(first[0].id), None)
        .await
        .unwrap();
    let is_next = second.len() == 1 && second[0].id > first[0].id;
    expect("next page", is_next, &second);

    let invalid = list_pets(&store, Some(0), None, None, None).await;
    refused("400", invalid, 400, ErrorCode::InvalidRequest);
    let (unknown, _) = open("URL", "wrong");
    let unauthorized = list_pets(&unknown, None, None, None, None).await;
    refused("401", unauthorized, 401, ErrorCode::InvalidApiKey);
    let absent = get_pet(&store, i64::MAX, None).await;
    refused("404", absent, 404, ErrorCode::PetNotFound);

    let (free, headers) = open("URL", &value("FREE_KEY"));
    let spent = loop {
        let answer = list_pets(&free, None, None, None, None).await;
        if answer.is_err() {
            break answer;
        }
    };
    refused("429", spent, 429, ErrorCode::RateLimitExceeded);
    let wait: u32 = headers.get("retry-after").parse().unwrap();
    expect("Retry-After", wait > 0, wait);

    let (future, _) = open("FUTURE_URL", "key");
    let page = list_pets(&future, None, None, None, None).await.unwrap();
    let is_new = page[0].status == Some(PetStatus::UnknownDefaultOpenApi);
    expect("new field and status", is_new, &page);
    let reserved = get_pet(&future, 1, None).await;
    refused(
        "new error code",
        reserved,
        404,
        ErrorCode::UnknownDefaultOpenApi,
    );
}

fn value(name: &str) -> String {
    var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn open(address: &str, key: &str) -> (Configuration, Headers) {
    let headers = Headers::default();
    let client = ClientBuilder::new(Client::new())
        .with(headers.clone())
        .build();
    let configuration = Configuration {
        base_path: value(address),
        bearer_access_token: Some(key.to_string()),
        client,
        ..Configuration::default()
    };
    (configuration, headers)
}

// The entity of an error is always the first variant that fits, `Status400`, so this parses the body.
fn refused<Answer: Debug, Entity: Debug>(
    label: &str,
    answer: Result<Answer, Error<Entity>>,
    status: u16,
    code: ErrorCode,
) {
    let Err(Error::ResponseError(refusal)) = answer else {
        panic!("{label}: {answer:?}");
    };
    let body: models::Error = serde_json::from_str(&refusal.content).unwrap();
    let ok = refusal.status == status && body.status == i32::from(status) && body.code == code;
    expect(label, ok, &body);
}

fn expect(label: &str, ok: bool, actual: impl Debug) {
    assert!(ok, "{label}: {actual:?}");
    println!("{label}");
}
