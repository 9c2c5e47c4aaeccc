package cloudformation

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// phoneHomeCode is the code of the function that reports what the stack has.
//
//go:embed phonehome.py
var phoneHomeCode string

// maxInlineCode is the size of code that a template can contain.
const maxInlineCode = 4096

// phoneHomeTime is how long the function may run, and how long CloudFormation waits for it, in seconds.
const (
	phoneHomeTime = 180
	phoneHomeWait = 300
)

// addPhoneHome adds the function that reports the outputs of the stack, after everything else was
// created. Its role allows nothing but writing its log: the name of the role and the account are its
// proof.
func (t *template) addPhoneHome() {
	if t.stack.Claim == "" {
		return
	}
	if len(phoneHomeCode) > maxInlineCode {
		t.report(diagnostic.Error, "stack", "shorten it", "the code of the function has %d bytes, and AWS allows %d",
			len(phoneHomeCode), maxInlineCode)
	}
	name := installstack.PhoneHomeRoleName(t.stack.Install.ID)
	t.addResource("PhoneHomeRole", "AWS::IAM::Role", object{
		"RoleName":    name,
		"Description": "Reports to the vendor what the stack has",
		"AssumeRolePolicyDocument": object{"Version": "2012-10-17", "Statement": list{object{
			"Effect": "Allow", "Principal": object{"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}}},
		"Tags": t.tags(),
	})
	t.addResource("PhoneHomeLog", "AWS::Logs::LogGroup", object{"LogGroupName": "/aws/lambda/" + name,
		"RetentionInDays": 30, "Tags": t.tags()})
	t.addResource("PhoneHomePermissions", "AWS::IAM::Policy", object{
		"PolicyName": "log", "Roles": list{ref("PhoneHomeRole")},
		"PolicyDocument": object{"Version": "2012-10-17", "Statement": list{object{"Sid": "WriteTheLog", "Effect": "Allow",
			"Action": list{"logs:CreateLogStream", "logs:PutLogEvents"}, "Resource": attribute("PhoneHomeLog", "Arn")}}},
	})
	t.addResource("PhoneHome", "AWS::Lambda::Function", object{
		"FunctionName": name, "Description": "Reports to the vendor what the stack has",
		"Runtime": "python3.12", "Handler": "index.handler", "Timeout": phoneHomeTime, "MemorySize": 256,
		"Role": attribute("PhoneHomeRole", "Arn"), "Code": object{"ZipFile": phoneHomeCode},
		"Environment": object{"Variables": object{"NUON_URL": t.stack.Runner.URL, "NUON_CLAIM": t.stack.Claim}},
		"Tags":        t.tags(),
	})["DependsOn"] = list{"PhoneHomePermissions"}

	after := list{"RunnerGroup"}
	if n := len(t.stack.Nested); n > 0 {
		after = list{"Nested" + t.stack.Nested[n-1].ID}
	}
	t.addResource("PhoneHomeReport", "AWS::CloudFormation::CustomResource", object{
		"ServiceToken": attribute("PhoneHome", "Arn"), "ServiceTimeout": phoneHomeWait,
		"StackVersion": strconv.Itoa(t.stack.Version), "Outputs": t.reportedOutputs(),
	})["DependsOn"] = after
}

// reportedOutputs returns the outputs as one map, in which those with a path are below each other.
func (t *template) reportedOutputs() object {
	all := object{}
	for _, o := range t.outputs {
		value := o.value
		if o.condition != "" {
			value = ifElse(o.condition, value, ref("AWS::NoValue"))
		}
		at, keys := all, outputKeys(o.path)
		for _, key := range keys[:len(keys)-1] {
			below, is := at[key].(object)
			if !is {
				below = object{}
				at[key] = below
			}
			at = below
		}
		at[keys[len(keys)-1]] = value
	}
	return all
}

// outputKeys splits the path of an output. Only outputs of nested stacks are deeper than two levels;
// the names of roles can have dots.
func outputKeys(path string) []string {
	if strings.HasPrefix(path, "custom_nested_stacks.") {
		return strings.Split(path, ".")
	}
	return strings.SplitN(path, ".", 2)
}
