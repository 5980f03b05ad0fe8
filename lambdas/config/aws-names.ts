import { ACCOUNT_ID, LANE_NAME, REGION_NAME } from '../identifiers.ts';
import { DEFAULT_LANE, SELF } from './fleet.ts';

// Formats of AWS names. A wrong one is rejected here, not half an hour later by CloudFormation.

/** Twelve digits, or `self`. */
export const ACCOUNT = orSelf(ACCOUNT_ID);

/** The name of a Region, or `self`. */
export const REGION = orSelf(REGION_NAME);

function orSelf({ source }: RegExp): RegExp {
  return new RegExp(`^(?:${SELF}|${source.slice(1, -1)})$`);
}

/** Source: IAM API Reference, CreateRole, RoleName. */
export const ROLE_NAME = /^[\w+=,.@-]{1,64}$/;

/** A key, never an alias: a policy cannot name that. Source: KMS Developer Guide, "Key identifiers". */
export const KMS_KEY_ARN =
  /^arn:aws[a-z-]{0,20}:kms:[a-z0-9-]{1,30}:\d{12}:key\/(?:mrk-[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

export const VPC_ID = /^vpc-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;
export const SUBNET_ID = /^subnet-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;
export const SECURITY_GROUP_ID = /^sg-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;

const TAG_CHARACTERS = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
const TAG_FORM = 'letters, digits, spaces and any of _ . : / = + - @';

/** The problem of a tag's key, or undefined. Source: EKS API Reference, Tag; STS API Reference, Tag. */
export function tagKeyProblem(key: string): string | undefined {
  if (key.length >= 1 && key.length <= 128 && TAG_CHARACTERS.test(key)) return undefined;
  return `cannot be the key of a tag; use 1 to 128 ${TAG_FORM}`;
}

export function tagValueProblem(value: string): string | undefined {
  if (value.length <= 256 && TAG_CHARACTERS.test(value)) return undefined;
  return `cannot be the value of a tag; use at most 256 ${TAG_FORM}`;
}

export function sessionTagKeyProblem(key: string): string | undefined {
  if (/^aws:/i.test(key)) return 'begins with aws:, which AWS reserves; write another key';
  return tagKeyProblem(key);
}

export function laneNameProblem(lane: string): string | undefined {
  if (lane === DEFAULT_LANE) return 'is the built-in lane outside of every VPC; give this one another name';
  if (!LANE_NAME.test(lane))
    return 'cannot name a lane; use at most 32 lower-case letters, digits and "-", and start with a letter';
  return undefined;
}
