//! PURE. Configuration and catalogue → rule groups → YAML.
