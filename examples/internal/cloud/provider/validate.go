package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// validate checks what providers check beyond the schema: the form of address ranges, ARNs and
// policies.
func validate(typ string, config object) (made []*tfprotov6.Diagnostic) {
	for _, name := range sortedKeys(config) {
		text, is := config[name].(string)
		if !is || text == "" {
			continue
		}
		var err error
		switch {
		case name == "cidr_block" || name == "ip_cidr_range":
			err = checkRange(text)
		case strings.HasSuffix(name, "_arn") && !strings.Contains(text, "{"):
			err = checkARN(text)
		case strings.HasPrefix(typ, "aws_") && (name == "policy" || name == "assume_role_policy") &&
			!json.Valid([]byte(text)):
			err = fmt.Errorf("%q contains an invalid JSON policy", name)
		}
		for _, d := range failure("Invalid value for "+name, err) {
			d.Attribute = tftypes.NewAttributePath().WithAttributeName(name)
			made = append(made, d)
		}
	}
	return made
}

func checkRange(text string) error {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return fmt.Errorf("%q is not a valid CIDR block", text)
	}
	if prefix != prefix.Masked() {
		return fmt.Errorf("%q is not a valid CIDR block; did you mean %q?", text, prefix.Masked())
	}
	return nil
}

func checkARN(text string) error {
	if len(strings.SplitN(text, ":", 6)) != 6 || !strings.HasPrefix(text, "arn:") {
		return fmt.Errorf("%q is an invalid ARN: arn: invalid prefix or not enough sections", text)
	}
	return nil
}
