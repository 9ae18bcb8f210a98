mod checks;
mod discovery;
mod example;
mod pieces;
