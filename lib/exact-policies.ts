import { type IRole, ManagedPolicy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

/** IAM quota: characters of a managed policy without white space, minus room for the text around the ARNs. */
const POLICY_CHARACTERS = 6_144 - 300;
/** IAM quota: managed policies of a role, by default. */
export const POLICIES_OF_A_ROLE = 10;

/** Thrown when the policies of a role cannot name all resources of a fleet. */
export class TooManyResourcesError extends Error {
  override readonly name = 'TooManyResourcesError';

  constructor(what: string, resources: number, policies: number, room: number) {
    super(
      `The fleet names ${resources} ${what}. To allow exactly these takes ${policies} policies and there is room for ${room}: ` +
        'divide the fleet between two stacks (cdk deploy -c fleet=FILE in another account or Region).',
    );
  }
}

export interface ExactPermission {
  readonly roles: readonly IRole[];
  readonly actions: readonly string[];
  /** Complete ARNs; repetitions are allowed. */
  readonly resources: readonly string[];
  /** Plural name of the resources, for the description and the error. */
  readonly what: string;
  /** Most policies to use. */
  readonly room: number;
}

/**
 * Allows roles an action on exactly these resources, in as few managed policies as possible.
 *
 * @returns the number of policies
 * @throws TooManyResourcesError
 */
export function allowExactly(scope: Construct, id: string, permission: ExactPermission): number {
  // Sorted, independent of the order in the file.
  const resources = [...new Set(permission.resources)].toSorted();
  const policies = packed(resources);
  if (policies.length > permission.room)
    throw new TooManyResourcesError(permission.what, resources.length, policies.length, permission.room);
  for (const [index, arns] of policies.entries())
    new ManagedPolicy(scope, `${id}${index}`, {
      description: `certmarshal: ${permission.what} of the fleet`,
      roles: [...permission.roles],
      statements: [new PolicyStatement({ actions: [...permission.actions], resources: [...arns] })],
    });
  return policies.length;
}

/** As few policies as possible. */
function packed(arns: readonly string[]): readonly (readonly string[])[] {
  const policies: string[][] = [];
  let room = 0;
  for (const arn of arns) {
    // Two quotation marks and a comma.
    const size = arn.length + 3;
    if (size > room) {
      policies.push([]);
      room = POLICY_CHARACTERS;
    }
    policies.at(-1)?.push(arn);
    room -= size;
  }
  return policies;
}
