package rego

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Inputs returns the names below input that are visible to a policy of this type, or nil if the
// type is unknown. A review contains one rendered object: the policy runs once for each.
func Inputs(policyType string) []string {
	switch policyType {
	case "sandbox", "terraform_module", "pulumi", "runner_job_terraform_deploy":
		return []string{"plan"}
	case "helm_chart", "kubernetes_manifest", "runner_job_helm_deploy":
		return []string{"review"}
	case "container_image", "docker_build":
		return []string{"image", "metadata", "tag"}
	}
	return nil
}

// readInputs records what the policy reads below input, and reports names that never exist.
func (p *policy) readInputs(known []string) {
	seen := map[string]bool{}
	ast.WalkRefs(p.module.AST, func(ref ast.Ref) bool {
		if len(ref) == 0 || !ref[0].Equal(ast.InputRootDocument) && !ref[0].Equal(ast.DefaultRootDocument) {
			return false
		}
		if ref[0].Equal(ast.DefaultRootDocument) {
			p.checkData(ref)
			return false
		}
		root := rootOf(ref)
		if seen[root] {
			return false
		}
		seen[root] = true
		line, column := p.Position(offset(ref[0].Location))
		p.module.Inputs = append(p.module.Inputs, Input{Root: root, Line: line, Column: column})
		if root != "" && known != nil && !slices.Contains(known, root) {
			p.Warning(offset(ref[0].Location), len("input.")+len(root), "rego-input",
				fmt.Sprintf("input.%s is never there: a policy of this type sees input.%s",
					root, strings.Join(known, ", input.")),
				"read input."+known[0]+", or change the policy's type")
		}
		return false
	})
}

// rootOf returns the first name below input, if the text contains it.
func rootOf(ref ast.Ref) string {
	if len(ref) < 2 {
		return ""
	}
	name, _ := ref[1].Value.(ast.String)
	return sanitize(string(name))
}

// checkData reports a read of data outside of the policy, because no other data is loaded.
func (p *policy) checkData(ref ast.Ref) {
	if len(ref) < 2 {
		return
	}
	if name, ok := ref[1].Value.(ast.String); ok && string(name) != Package {
		p.Warning(offset(ref[0].Location), len("data.")+len(name), "rego-data",
			fmt.Sprintf("data.%s is never there: a policy sees its input and its own rules", sanitize(string(name))),
			"write what it would hold into this policy")
	}
}
