mod checks;
mod example;
mod pieces;
