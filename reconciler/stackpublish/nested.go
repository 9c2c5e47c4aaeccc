package stackpublish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// Limits of a nested template, on AWS.
const (
	maxNested     = 1_000_000
	maxParameters = 200
)

// PublishNested checks each template of the vendor that a stack pins by digest, and copies it into the bucket, if
// there is one. Without a bucket, the cloud reads the address of the vendor, whose content can change after the
// check.
func (p *Publisher) PublishNested(ctx context.Context, all []installstack.Nested) error {
	for _, n := range all {
		if n.SHA256 == "" {
			continue
		}
		content, err := p.fetch(ctx, n)
		if err != nil {
			return invalid(n, "%v", err)
		}
		if err := checkNested(n, content); err != nil {
			return err
		}
		if p.bucket == "" {
			continue
		}
		if _, err := p.Publish(ctx, installstack.NestedFile(n.Source), content); err != nil {
			return err
		}
	}
	return nil
}

// invalid returns an error about a template of the vendor.
func invalid(n installstack.Nested, format string, a ...any) error {
	return refusal.New(refusal.Invalid, "bad_nested_stack",
		fmt.Sprintf("the nested stack %s: %s", n.Name, fmt.Sprintf(format, a...)),
		"Fix the file at template_url, or template_url, digest or parameters in stack.toml.")
}

// fetch reads a template of the vendor.
func (p *Publisher) fetch(ctx context.Context, n installstack.Nested) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Source, nil)
	if err != nil {
		return nil, fmt.Errorf("template_url %.200q is not a URL", n.Source)
	}
	response, err := p.remote.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read its template: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read its template: %s answers %s", n.Source, response.Status)
	}
	return netguard.ReadAll(response.Body, maxNested,
		fmt.Errorf("its template has more than %d bytes, which is the limit of CloudFormation", maxNested))
}

// checkNested compares a template with its digest, its limits, and the parameters that the stack gives it.
func checkNested(n installstack.Nested, content []byte) error {
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); got != n.SHA256 {
		return invalid(n, "its template has the digest sha256:%s, and stack.toml pins sha256:%s", got, n.SHA256)
	}
	var template struct {
		Parameters map[string]struct{ Default, DefaultValue json.RawMessage } // of AWS and of Azure
	}
	if err := yaml.Unmarshal(content, &template); err != nil {
		return invalid(n, "its template is neither YAML nor JSON")
	}
	if count := len(template.Parameters); count > maxParameters {
		return invalid(n, "its template has %d parameters, and CloudFormation allows %d", count, maxParameters)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Parameters)) {
		if _, declared := template.Parameters[name]; !declared {
			return invalid(n, "its template has no parameter %.100q", name)
		}
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(template.Parameters)) {
		_, given := n.Parameters[name]
		if declared := template.Parameters[name]; !given && declared.Default == nil && declared.DefaultValue == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return invalid(n, "its template needs the parameters %s", installstack.Plain(strings.Join(missing, ", "), 300))
	}
	return nil
}
