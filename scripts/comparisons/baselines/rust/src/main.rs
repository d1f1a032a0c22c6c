//! Rust's axum and sqlx with a pool of 10. No API keys, rate limits or log.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgPool, PgPoolOptions};

#[derive(Serialize, sqlx::FromRow)]
#[serde(rename_all = "camelCase")]
struct Pet {
    id: i64,
    name: String,
    category_id: i64,
    status: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewPet {
    name: String,
    category_id: i64,
    status: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    limit: Option<i64>,
    status: Option<String>,
    after: Option<i64>,
}

fn failed(error: sqlx::Error) -> StatusCode {
    eprintln!("{error}");
    StatusCode::INTERNAL_SERVER_ERROR
}

async fn list(
    State(pool): State<PgPool>,
    Query(page): Query<Page>,
) -> Result<Json<Vec<Pet>>, StatusCode> {
    let after_id = page.after.unwrap_or(0);
    let limit = page.limit.unwrap_or(20);
    let query = match page.status {
        None => sqlx::query_as(
            "select id, name, category_id, status from pets where id > $1 order by id limit $2",
        )
        .bind(after_id)
        .bind(limit),
        Some(status) => sqlx::query_as(
            "select id, name, category_id, status from pets where status = $1 and id > $2 order by id limit $3",
        )
        .bind(status)
        .bind(after_id)
        .bind(limit),
    };
    query.fetch_all(&pool).await.map(Json).map_err(failed)
}

async fn get_one(State(pool): State<PgPool>, Path(id): Path<i64>) -> Result<Json<Pet>, StatusCode> {
    sqlx::query_as("select id, name, category_id, status from pets where id = $1")
        .bind(id)
        .fetch_optional(&pool)
        .await
        .map_err(failed)?
        .map(Json)
        .ok_or(StatusCode::NOT_FOUND)
}

async fn create(
    State(pool): State<PgPool>,
    Json(pet): Json<NewPet>,
) -> Result<(StatusCode, Json<Pet>), StatusCode> {
    sqlx::query_as(
        "insert into pets (name, category_id, status) values ($1, $2, $3) returning id, name, category_id, status",
    )
    .bind(pet.name)
    .bind(pet.category_id)
    .bind(pet.status)
    .fetch_one(&pool)
    .await
    .map(|created| (StatusCode::CREATED, Json(created)))
    .map_err(failed)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = PgPoolOptions::new()
        .max_connections(10)
        .connect(&std::env::var("DATABASE_URL")?)
        .await?;
    let app = Router::new()
        .route("/v1/pets", get(list).post(create))
        .route("/v1/pets/{id}", get(get_one))
        .with_state(pool);
    let address = format!("127.0.0.1:{}", std::env::var("PORT")?);
    axum::serve(tokio::net::TcpListener::bind(address).await?, app).await?;
    Ok(())
}
