use openapi::apis::{configuration::Configuration, default_api::{patch_both, patch_item}};
use openapi::models::ItemPatch;

#[tokio::main]
async fn main() {
    let configuration = Configuration { base_path: std::env::var("URL").unwrap(), ..Default::default() };
    let patch = ItemPatch { note: Some(None), ..Default::default() };
    patch_item(&configuration, 1, patch.clone()).await.unwrap();
    patch_both(&configuration, 1, patch).await.unwrap();
}
