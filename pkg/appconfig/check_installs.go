package appconfig

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// checkInstalls checks each install file: section 11.4.
func (c *checker) checkInstalls() {
	reads := c.accountReads()
	for _, e := range c.installs {
		c.checkAccount(e)
		c.checkAccountReads(e, reads)
		c.checkInstallInputs(e)
		c.checkInstallComponents(e)
		c.checkInstallToggles(e.table, e.value.Name, e.value.ComponentToggles)
	}
	if c.installSource != nil {
		c.requireSource(c.installSource.table, c.installSource.value.Repositories)
	}
}

// accountTables are the tables that select the cloud account of an install.
var accountTables = []struct{ key, cloud string }{{"aws_account", cloudAWS}, {"azure_account", cloudAzure},
	{"gcp_account", cloudGCP}}

func (c *checker) checkAccount(e *entry[format.Install]) {
	first := ""
	for _, account := range accountTables {
		n := e.table.Get(account.key)
		switch {
		case n == nil:
			continue
		case first != "":
			c.errorf(ruleChooseOne, n.Key, "keep one of them, and write an install for each account",
				"an install is for one account")
		case c.cloud != "" && c.cloud != account.cloud:
			c.errorf(ruleCloudMismatch, n.Key, "write ["+c.cloud+"_account]",
				"install %q is on %s, and the runner is on %s", e.value.Name, cloudLabel(account.cloud), cloudLabel(c.cloud))
		}
		first = account.key
		c.checkAccountIDs(n.Table())
	}
}

// accountIDs are keys of accounts whose values have a form, with how they are written.
var accountIDs = map[string]struct {
	form *lazyregexp.Regexp
	hint string
}{
	"account_id":      {lazyregexp.New(`^[0-9]{12}$`), "write its 12 digits, in quotes"},
	"location":        {lazyregexp.New(`^[a-z0-9]+$`), "write its name without spaces, such as westeurope"},
	"region":          {lazyregexp.New(`^[a-z0-9-]+$`), "write its name, in lower case and without spaces"},
	"subscription_id": {guid, "write it as the portal shows it, in lower case"},
	"tenant_id":       {guid, "write it as the portal shows it, in lower case"},
}

var guid = lazyregexp.New(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// AccountIDProblem returns what is wrong with the value of a key of a cloud account, or "".
func AccountIDProblem(key, value string) string {
	if rule, known := accountIDs[key]; known && value != "" && !rule.form.MatchString(value) {
		return fmt.Sprintf("%s %q is not valid; %s", key, value, rule.hint)
	}
	return ""
}

// checkAccountIDs checks the ids in the table of an account.
func (c *checker) checkAccountIDs(table *syntax.Table) {
	for _, key := range slices.Sorted(maps.Keys(accountIDs)) {
		n := table.Get(key)
		if text, is := n.Text(); is && AccountIDProblem(key, text) != "" {
			c.errorf(ruleWrongValue, n.At, accountIDs[key].hint, "%s %q is not valid", key, text)
		}
	}
}

// accountReads returns the keys of the cloud account that texts read, each with the first text that reads it.
func (c *checker) accountReads() map[string]*renderedText {
	first := map[string]*renderedText{}
	for _, t := range c.texts {
		if t.template == nil || t.noEffectYet || t.stage == stageProse {
			continue
		}
		for _, ref := range t.template.Refs() {
			if len(ref) == 3 && ref[0] == "cloud_account" && ref[1] == c.cloud && !testsFor(t.text, ref[2]) &&
				first[ref[2]] == nil {
				first[ref[2]] = t
			}
		}
	}
	return first
}

// checkAccountReads warns of keys of the cloud account that texts read and that an install file does not set: what
// reads them waits until the stack of the install reports them.
func (c *checker) checkAccountReads(e *entry[format.Install], reads map[string]*renderedText) {
	table := c.cloud + "_account"
	n := e.table.Get(table)
	if n != nil && n.Table() == nil { // reported already
		return
	}
	for _, key := range slices.Sorted(maps.Keys(reads)) {
		if text, _ := n.Table().Get(key).Text(); text != "" {
			continue
		}
		at, hint := e.table.Position("name"), "add ["+table+"] with "+key
		if n != nil {
			at, hint = n.Key, "add "+key
		}
		c.warnf(ruleInstallAccount, at, hint, "install %q: %s of the %s account is not set, and %s reads it in %s: "+
			"that waits until the stack of the install reports it", e.value.Name, key, cloudLabel(c.cloud), reads[key].owner,
			reads[key].path)
	}
}

// checkInstallInputs compares the inputs that an install sets with those that the app declares.
func (c *checker) checkInstallInputs(e *entry[format.Install]) {
	set := map[string]bool{}
	for name, n := range mergedTables(e.table.Get("inputs")) {
		set[name] = true
		c.checkInstallInput(name, n)
	}
	for _, declared := range c.inputs {
		input := &declared.value
		// Files never contain the inputs that the customer sets, nor sensitive ones.
		if input.Required && input.Default == nil && !input.Sensitive && !input.UserConfigurable && !set[input.Name] {
			c.errorf(ruleInstallInput, e.table.Position("name"), "add it under [inputs]",
				"install %q: the required input %q is missing", e.value.Name, input.Name)
		}
	}
}

// mergedTables iterates over the keys of a table, or of all tables of a list.
func mergedTables(n *syntax.Node) func(yield func(string, *syntax.Node) bool) {
	return func(yield func(string, *syntax.Node) bool) {
		tables := []*syntax.Node{n}
		if items, ok := n.Items(); ok {
			tables = items
		}
		for _, table := range tables {
			for name, value := range table.Table().Each {
				if !yield(name, value) {
					return
				}
			}
		}
	}
}

func (c *checker) checkInstallInput(name string, n *syntax.Node) {
	declared := c.names.inputs[name]
	if declared == nil && c.unreadable.has(name) {
		return
	}
	if declared == nil {
		hint := c.nearestHint(name, keysOf(c.names.inputs))
		if hint == "" && c.names.secrets[name] != nil {
			hint = "that is a secret, which only the customer sets"
		}
		c.errorf(ruleInstallInput, n.Key, hint, "the app has no input %s", diagnostic.Quote(name))
		return
	}
	value, ok := n.Text()
	switch {
	case !ok: // reported already
	case declared.value.Sensitive:
		c.warnf(ruleSensitive, n.Key, "remove it here, in git's history too, and set it with `nuon installs`",
			"input %q is sensitive and is not read from files", name)
	default:
		if problem := (&Input{Type: declared.value.Type}).Check(value); problem != "" {
			c.errorf(ruleInputValue, n.At, "", "the value of input %q %s", name, problem)
		}
	}
}
