// Reads a JSON list of ServiceMonitors and PrometheusRules on standard input with the Prometheus operator's own types:
// a field that the operator does not know, or one of another type, is an error.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	strict "sigs.k8s.io/json"
)

func check(resource json.RawMessage) error {
	var meta struct{ Kind string }
	if err := json.Unmarshal(resource, &meta); err != nil {
		return err
	}
	types := map[string]any{
		"PrometheusRule": &monitoring.PrometheusRule{},
		"ServiceMonitor": &monitoring.ServiceMonitor{},
	}
	into, known := types[meta.Kind]
	if !known {
		return fmt.Errorf("%q is not one of the operator's kinds", meta.Kind)
	}
	unknown, err := strict.UnmarshalStrict(resource, into)
	if err != nil {
		return fmt.Errorf("%s: %w", meta.Kind, err)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%s: %v", meta.Kind, unknown)
	}
	return nil
}

func run(in io.Reader) error {
	var resources []json.RawMessage
	if err := json.NewDecoder(in).Decode(&resources); err != nil {
		return err
	}
	for _, resource := range resources {
		if err := check(resource); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
