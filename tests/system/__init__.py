"""System tests: the real `brinkwatch` beside a real Kafka, Spark, Prometheus and Alertmanager."""
