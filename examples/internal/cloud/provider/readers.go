package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os/exec"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// readers answer data sources that do not describe an object of the cloud.
var readers = map[string]func(*filler) error{
	"archive_file":            writeArchive,
	"cloudinit_config":        renderCloudinit,
	"external":                runExternal,
	"http":                    requestHTTP,
	"local_file":              readLocalFile,
	"local_sensitive_file":    readLocalFile,
	"local_command":           runLocalCommand,
	"null_data_source":        func(f *filler) error { f.top["outputs"] = f.top["inputs"]; return f.setID("static") },
	"tls_certificate":         readCertificates,
	"tls_public_key":          readPublicKey,
	"utils_deep_merge_yaml":   mergeYAML,
	"aws_iam_policy_document": readPolicyDocument,
	"aws_availability_zones":  readZones,
	"aws_partition":           readPartition,
	"aws_region":              readRegion,
	"aws_arn":                 readARN,
	"aws_service_principal":   readServicePrincipal,
	"aws_iam_session_context": readSessionContext,
	"aws_caller_identity":     func(f *filler) error { f.top["account_id"] = f.account(); return nil },
	"aws_ecr_authorization_token": func(f *filler) error {
		password := f.loginToken()
		f.top["user_name"], f.top["password"] = "AWS", password
		f.top["authorization_token"] = base64.StdEncoding.EncodeToString([]byte("AWS:" + password))
		f.top["proxy_endpoint"] = f.expand("https://{account}.dkr.ecr.{region}.amazonaws.com")
		return nil
	},
}

func readZones(f *filler) error {
	zones := f.zones()
	f.top["names"], f.top["zone_ids"] = asAnys(zones...), []any{}
	for i := range zones {
		f.top["zone_ids"] = append(asList(f.top["zone_ids"]), fmt.Sprintf("%s-az%d", shortRegion(f.region()), i+1))
	}
	f.top["group_names"] = asAnys(f.region())
	return f.setID(f.region())
}

// shortRegion returns a region as the ids of zones have it, such as use1 for us-east-1.
func shortRegion(region string) string {
	parts := strings.Split(region, "-")
	if len(parts) < 3 || parts[1] == "" {
		return region
	}
	return parts[0] + parts[1][:1] + parts[2]
}

func readPartition(f *filler) error {
	suffix, reverse := "amazonaws.com", "com.amazonaws"
	if f.partition() == "aws-cn" {
		suffix, reverse = "amazonaws.com.cn", "cn.com.amazonaws"
	}
	f.top["partition"], f.top["dns_suffix"], f.top["reverse_dns_prefix"] = f.partition(), suffix, reverse
	return f.setID(f.partition())
}

func readRegion(f *filler) error {
	region := f.region()
	for _, name := range []string{"name", "region", "description"} {
		if f.schema.Attributes[name] != nil {
			f.top[name] = region
		}
	}
	f.top["endpoint"] = "ec2." + region + ".amazonaws.com"
	return f.setID(region)
}

func readARN(f *filler) error {
	parts := strings.SplitN(asText(f.top["arn"]), ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return fmt.Errorf("%q is no ARN", asText(f.top["arn"]))
	}
	for i, name := range []string{"partition", "service", "region", "account", "resource"} {
		f.top[name] = parts[i+1]
	}
	return f.setID(asText(f.top["arn"]))
}

func readServicePrincipal(f *filler) error {
	f.top["name"], f.top["suffix"] = asText(f.top["service_name"])+".amazonaws.com", "amazonaws.com"
	return f.setID(asText(f.top["service_name"]) + "." + f.region() + ".amazonaws.com")
}

// readSessionContext returns the role that issued the session of an ARN.
func readSessionContext(f *filler) error {
	arn := asText(f.top["arn"])
	f.top["issuer_arn"], f.top["issuer_name"], f.top["session_name"], f.top["issuer_id"] = arn, "", "", ""
	if _, rest, is := strings.Cut(arn, ":assumed-role/"); is {
		role, session, _ := strings.Cut(rest, "/")
		f.top["issuer_arn"] = f.expand("arn:{partition}:iam::{account}:role/") + role
		f.top["issuer_name"], f.top["session_name"], f.top["issuer_id"] = role, session, "AROA"+strings.ToUpper(f.seed[:17])
	}
	return f.setID(arn)
}

// runExternal really runs the program.
func runExternal(f *filler) error {
	program := asTexts(f.top["program"])
	if len(program) == 0 {
		return errors.New("program is empty")
	}
	query := asObject(f.top["query"])
	if query == nil {
		query = object{}
	}
	input, err := json.Marshal(query)
	if err != nil {
		return err
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Dir, cmd.Stdin = asText(f.top["working_dir"]), bytes.NewReader(input)
	output, err := cmd.Output()
	if err != nil {
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			return fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return err
	}
	result := map[string]string{}
	if err := json.Unmarshal(output, &result); err != nil {
		return fmt.Errorf("the program did not print a JSON object of strings: %w", err)
	}
	made := object{}
	for name, text := range result {
		made[name] = text
	}
	f.top["result"] = made
	return f.setID("-")
}

func runLocalCommand(f *filler) error {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(asText(f.top["command"]), asTexts(f.top["arguments"])...)
	cmd.Dir, cmd.Stdin = asText(f.top["working_directory"]), strings.NewReader(asText(f.top["stdin"]))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && f.top["allow_non_zero_exit_code"] == true {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, stderr.String())
	}
	f.top["exit_code"] = asNumber(cmd.ProcessState.ExitCode())
	f.top["stdout"], f.top["stderr"] = stdout.String(), stderr.String()
	return nil
}

// requestHTTP really sends the request.
func requestHTTP(f *filler) error {
	timeout := time.Duration(asInt(f.top["request_timeout_ms"], 60000)) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, firstText(asText(f.top["method"]), http.MethodGet),
		asText(f.top["url"]), strings.NewReader(asText(f.top["request_body"])))
	if err != nil {
		return err
	}
	for name, value := range asObject(f.top["request_headers"]) {
		request.Header.Set(name, asText(value))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	headers := object{}
	for name := range response.Header {
		headers[name] = strings.Join(response.Header[name], ", ")
	}
	f.top["status_code"], f.top["response_headers"] = asNumber(response.StatusCode), headers
	f.top["body"], f.top["response_body"] = string(body), string(body)
	f.top["response_body_base64"] = base64.StdEncoding.EncodeToString(body)
	return f.setID(asText(f.top["url"]))
}

// renderCloudinit writes the parts as a MIME message, compressed and encoded unless disabled.
func renderCloudinit(f *filler) error {
	var made bytes.Buffer
	parts := multipart.NewWriter(&made)
	boundary := firstText(asText(f.top["boundary"]), "MIMEBOUNDARY")
	if err := parts.SetBoundary(boundary); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(&made, "Content-Type: multipart/mixed; boundary=%q\nMIME-Version: 1.0\r\n\r\n", boundary)
	for _, part := range items(f.top["part"], "list") {
		header := textproto.MIMEHeader{"Content-Type": {firstText(asText(part["content_type"]), "text/plain")},
			"Mime-Version": {"1.0"}, "Content-Transfer-Encoding": {"7bit"}}
		if name := asText(part["filename"]); name != "" {
			header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
		}
		if merge := asText(part["merge_type"]); merge != "" {
			header.Set("X-Merge-Type", merge)
		}
		w, err := parts.CreatePart(header)
		if err != nil {
			return err
		}
		_, _ = io.WriteString(w, asText(part["content"])) // a buffer takes everything
	}
	if err := parts.Close(); err != nil {
		return err
	}
	content := made.Bytes()
	if f.top["gzip"] != false {
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		_, err := w.Write(content)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
		content = compressed.Bytes()
	}
	f.top["rendered"] = string(content)
	if f.top["base64_encode"] != false {
		f.top["rendered"] = base64.StdEncoding.EncodeToString(content)
	}
	return f.setID(f.digits(10))
}

// mergeYAML merges YAML documents, of which later ones count more.
func mergeYAML(f *filler) error {
	var merged any
	for _, text := range asTexts(f.top["input"]) {
		var one any
		if err := yaml.Unmarshal([]byte(text), &one); err != nil {
			return err
		}
		merged = mergeDeep(merged, one, f.top["append_list"] == true)
	}
	output, err := yaml.Marshal(merged)
	if err != nil {
		return err
	}
	f.top["output"] = string(output)
	return f.setID(hash(string(output))[:40])
}

func mergeDeep(base, over any, appendLists bool) any {
	if a, is := base.([]any); is && appendLists {
		if b, is := over.([]any); is {
			return append(a, b...)
		}
	}
	a, isMap := base.(map[string]any)
	b, areMaps := over.(map[string]any)
	if !isMap || !areMaps {
		return over
	}
	for name, value := range b {
		a[name] = mergeDeep(a[name], value, appendLists)
	}
	return a
}
