package appconfig

// checkSandbox checks sandbox.toml: section 6.
func (c *checker) checkSandbox() {
	if c.sandbox == nil {
		return
	}
	t, value := c.sandbox.table, &c.sandbox.value
	c.checkRetries(t, value.MaxAutoRetries)
	c.checkOwnRoles(t, value.OperationRoles, "the sandbox", sandboxOperations)
	c.checkEnvironment(t, "env_vars")
	c.requireSource(t, value.Repositories)
	pulumi := value.Type == "pulumi"
	switch {
	case pulumi && value.Runtime == "":
		c.errorf(ruleMissingKey, t.Position("type"), `write runtime = "go", "nodejs" or "python"`,
			`"runtime" is missing: the sandbox is a Pulumi program`)
	case !pulumi && value.TerraformVersion == "" && (value.Type == "" || value.Type == "terraform"):
		c.errorf(ruleMissingKey, t.At, `write it like terraform_version = "1.11.4"`, `"terraform_version" is missing`)
	}
	c.checkVersion(t, "terraform_version", value.TerraformVersion)
	other := []string{"runtime", "pulumi_config"}
	if pulumi {
		other = []string{"terraform_version", "vars", "var_file"}
	}
	for _, key := range other {
		if n := t.Get(key); n != nil {
			c.warnf(ruleNoEffect, n.Key, "remove it",
				"%s has no effect: the sandbox is made by %s", key, engineName(pulumi))
		}
	}
}

func engineName(pulumi bool) string {
	if pulumi {
		return "Pulumi"
	}
	return "Terraform"
}
