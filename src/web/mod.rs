//! What the daemon serves: scrape, health, rules, API, pages.
