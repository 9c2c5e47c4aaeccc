# Creates the stack of the template beside this file. CloudFormation makes the resources; Terraform passes on the variables.

terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0, < 7.0"
    }
  }
}

output "outputs" {
  description = "The outputs of the stack, which the stack itself reports to the vendor."
  value       = aws_cloudformation_stack.this.outputs
}
