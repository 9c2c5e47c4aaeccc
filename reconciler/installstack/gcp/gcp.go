// Package gcp renders an install stack as a Terraform module for GCP, which Infrastructure Manager can apply as well.
// The files are the same for every install but for install.tf, which has what depends on the app and the install. The
// same stack always gives the same bytes.
package gcp

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// static are the files that do not depend on the install.
//
//go:embed versions.tf network.tf roles.tf runner.tf boot.sh
var static embed.FS

// staticNames is the order of static files.
var staticNames = []string{"boot.sh", "network.tf", "roles.tf", "runner.tf", "versions.tf"}

// File is one file of the module.
type File struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// Limits of names on GCP.
const (
	maxDescription = 256
	maxLabel       = 100
)

// module is install.tf while it is built.
type module struct {
	stack    *installstack.Stack
	file     *hclwrite.File
	findings diagnostic.Diagnostics
}

// Render returns the files of a stack, by name. There are none if a finding is an error.
func Render(stack *installstack.Stack) ([]File, diagnostic.Diagnostics) {
	m := &module{stack: stack, file: hclwrite.NewEmptyFile()}
	m.addLocals()
	m.addVariables()
	m.addSecrets()
	m.addInputs()
	if len(stack.Nested) > 0 {
		m.errorf("stack.toml", "remove them", "nested stacks are not rendered for GCP yet")
	}
	if m.findings.HasErrors() {
		return nil, m.findings
	}
	files := []File{{"install.tf", string(hclwrite.Format(m.file.Bytes()))},
		{"nuon-runner.service", installstack.Unit("gcp")}}
	for _, name := range staticNames {
		content, _ := static.ReadFile(name) // embedded above
		files = append(files, File{name, string(content)})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, m.findings
}

func (m *module) errorf(where, hint, message string, a ...any) {
	m.findings = append(m.findings, diagnostic.Diagnostic{File: where, Line: 1, Column: 1, Severity: diagnostic.Error,
		Rule: "stack-limit", Message: fmt.Sprintf(message, a...), Hint: hint})
}

// text returns a text without placeholders as a value. Writing it escapes everything that HCL would interpret.
func text(s string, limit int) cty.Value { return cty.StringVal(installstack.Plain(s, limit)) }

// accountID returns the id of a service account.
func (m *module) accountID(role string) string {
	return installstack.RoleAccountID(m.stack.Install.ID, role)
}

// short returns a short name of the install for service accounts.
func (m *module) short() string { return installstack.AccountIDPrefix(m.stack.Install.ID) }

// addLocals adds what the other files read.
func (m *module) addLocals() {
	i, r := m.stack.Install, m.stack.Runner
	locals := m.file.Body().AppendNewBlock("locals", nil).Body()
	name := installstack.Fit(strings.ToLower(m.stack.Name), 40, installstack.IsAccountID)
	locals.SetAttributeValue("name", cty.StringVal(name))
	locals.SetAttributeValue("short", cty.StringVal(m.short()))
	locals.SetAttributeValue("install", object(map[string]cty.Value{"id": cty.StringVal(i.ID)}))
	locals.SetAttributeValue("labels", object(map[string]cty.Value{"nuon_install_id": cty.StringVal(i.ID),
		"nuon_app_id": cty.StringVal(i.AppID), "nuon_org_id": cty.StringVal(i.OrgID)}))
	locals.SetAttributeValue("runner", object(map[string]cty.Value{"url": cty.StringVal(r.URL),
		"download_url": cty.StringVal(r.DownloadURL), "sha256": cty.StringVal(r.SHA256),
		"claim": cty.StringVal(m.stack.Claim), "stack_version": cty.StringVal(strconv.Itoa(m.stack.Version)),
		"arguments": cty.StringVal(m.stack.RunnerArguments(func(role installstack.Role) string {
			return m.accountID(role.ID) + "@*"
		}))}))
	roles := map[string]cty.Value{}
	for _, role := range m.stack.Roles {
		id := roleID(role)
		roles[id] = object(map[string]cty.Value{
			"key": text(role.Key, 512), "kind": cty.StringVal(string(role.Kind)),
			"account_id": cty.StringVal(m.accountID(role.ID)),
			"label":      text(role.Label, maxLabel), "description": text(role.Description, maxDescription),
			"enabled": cty.BoolVal(role.Enabled), "grants": texts(role.Grants), "permissions": texts(role.Actions),
		})
	}
	locals.SetAttributeValue("roles", object(roles))
}

// roleID returns the key of a role in the variable roles.
func roleID(role installstack.Role) string {
	if role.Kind == installstack.Custom || role.Kind == installstack.BreakGlass {
		return role.ID
	}
	return string(role.Kind)
}

func object(values map[string]cty.Value) cty.Value {
	if len(values) == 0 {
		return cty.EmptyObjectVal
	}
	return cty.ObjectVal(values)
}

func texts(all []string) cty.Value {
	values := make([]cty.Value, len(all))
	for i, s := range all {
		values[i] = cty.StringVal(s)
	}
	if len(values) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	return cty.TupleVal(values)
}

// variable is a variable of the module.
type variable struct {
	name, kind, about string
	value             cty.Value // the default; null for none
	sensitive         bool
	only              string // the only value that it may have; empty for any
}

func (m *module) addVariable(v variable) {
	body := installstack.AddVariable(m.file.Body(), installstack.Variable{Name: v.name, Type: v.kind,
		Description: installstack.Plain(v.about, 1024), Default: v.value, Sensitive: v.sensitive})
	if v.only == "" {
		return
	}
	check := body.AppendNewBlock("validation", nil).Body()
	check.SetAttributeRaw("condition", slices.Concat(
		hclwrite.TokensForTraversal(hcl.Traversal{hcl.TraverseRoot{Name: "var"}, hcl.TraverseAttr{Name: v.name}}),
		hclwrite.Tokens{{Bytes: []byte(" == ")}}, hclwrite.TokensForValue(cty.StringVal(v.only))))
	check.SetAttributeValue("error_message", cty.StringVal(fmt.Sprintf("This stack is for the %s %s.",
		strings.TrimSuffix(v.name, "_id"), v.only)))
}

// addVariables adds the variables that every stack has.
func (m *module) addVariables() {
	empty := cty.StringVal("")
	machine := m.stack.Runner.InstanceType
	if machine == "" {
		machine = "e2-standard-2"
	}
	known := func(s string) cty.Value {
		if s == "" {
			return cty.NilVal
		}
		return cty.StringVal(s)
	}
	network := empty
	if m.stack.ExistingNetwork {
		network = cty.NilVal
	}
	for _, v := range []variable{
		{name: "project_id", kind: "string", about: "Project of the install.", value: known(m.stack.Account),
			only: m.stack.Account},
		{name: "region", kind: "string", about: "Region of the install.", value: known(m.stack.Region), only: m.stack.Region},
		{name: "registry", kind: "string", about: "HOST/PATH of a registry of yours that stores copies of what is deployed."},
		{name: "registry_username", kind: "string", about: "Username of the registry.", value: empty},
		{name: "registry_password", kind: "string", about: "Password of the registry.", value: empty, sensitive: true},
		{name: "machine_type", kind: "string", about: "Size of the machine of the runner.", value: text(machine, 64)},
		{name: "network_name", kind: "string", about: "Name of an existing network; empty to create one.", value: network},
		{name: "public_subnet_name", kind: "string", about: "Its public subnet.", value: empty},
		{name: "private_subnet_name", kind: "string", about: "Its private subnet.", value: empty},
		{name: "runner_subnet_name", kind: "string", about: "Its subnet from which the runner reaches the internet.",
			value: empty},
	} {
		m.addVariable(v)
	}
	body := m.file.Body().AppendNewBlock("variable", []string{"roles"}).Body()
	body.SetAttributeRaw("type", hclwrite.Tokens{{Bytes: []byte("map(bool)")}})
	body.SetAttributeValue("description", cty.StringVal("Roles to switch on (true) or off (false)."))
	body.SetAttributeValue("default", cty.EmptyObjectVal)
	body = m.file.Body().AppendNewBlock("variable", []string{"break_glass_until"}).Body()
	body.SetAttributeRaw("type", hclwrite.Tokens{{Bytes: []byte("map(string)")}})
	body.SetAttributeValue("description", cty.StringVal("When each break-glass role that is on ends, such as "+
		"{ repair = \"2026-11-23T22:00:00Z\" }."))
	body.SetAttributeValue("default", cty.EmptyObjectVal)
}
