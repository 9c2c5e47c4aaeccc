resource "aws_cloudformation_stack" "this" {
  name          = local.name
  capabilities  = ["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
  template_body = file("${path.module}/template.json")
  parameters    = local.parameters
}
