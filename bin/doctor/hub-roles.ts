import type { HubOptions } from '../../lambdas/config/fleet.ts';
import { HUB_STACK, hubRoleArn } from '../../lambdas/fleet/role-names.ts';
import { UsageError } from '../exit-codes.ts';

/** Placeholder in commands while the role is unknown. */
const PLACEHOLDER = 'SWEEP-ROLE-ARN';
const ROLE_ARN = /^arn:aws[a-z-]{0,20}:iam::\d{12}:role\/(?:[\w+=,.@-]+\/)*[\w+=,.@-]{1,64}$/;
const HUB_ROLE_NAME = new RegExp(`^${HUB_STACK}-(?:sweep|dispatch)-`);

/** The role of the sweeping functions, and whether we have it. Users usually do not: it trusts only Lambda. */
export interface HubRoles {
  /** ARN, or a placeholder if `known` is false. */
  readonly sweepRole: string;
  readonly known: boolean;
  readonly weSweep: boolean;
  /** We have the sweep or dispatch role, which spoke accounts trust. */
  readonly weAreHub: boolean;
}

/** The role of a principal: `arn:aws:iam::111122223333:role/certmarshal`; undefined for a user. */
export function roleOf(arn: string): { readonly arn: string; readonly name: string } | undefined {
  const { partition, account, name } =
    /^arn:(?<partition>[a-z-]+):(?:sts|iam)::(?<account>\d{12}):(?:assumed-role\/|role\/(?:[\w+=,.@/-]+\/)?)(?<name>[\w+=,.@-]+)(?:\/[\w+=,.@-]+)?$/.exec(
      arn,
    )?.groups ?? {};
  if (name === undefined) return undefined;
  return { arn: `arn:${partition}:iam::${account}:role/${name}`, name };
}

/**
 * @param caller our ARN in AWS
 * @param named by the option --sweep-role
 */
export function hubRoles(
  caller: string,
  hub: Pick<HubOptions, 'account' | 'region'>,
  named: string | undefined,
): HubRoles {
  const we = roleOf(caller);
  const { account, region } = hub;
  const computed = account === undefined || region === undefined ? undefined : { account, region };
  const ours = we !== undefined && HUB_ROLE_NAME.test(we.name);
  const sweepRole =
    named ??
    (computed === undefined ? undefined : hubRoleArn(computed, 'sweep')) ??
    (ours ? we.arn.replace(`${HUB_STACK}-dispatch-`, `${HUB_STACK}-sweep-`) : undefined);
  const dispatchRole = sweepRole?.replace(`${HUB_STACK}-sweep-`, `${HUB_STACK}-dispatch-`);
  const weAre = (arn: string | undefined) => we !== undefined && arn !== undefined && roleOf(arn)?.arn === we.arn;
  return {
    sweepRole: sweepRole ?? PLACEHOLDER,
    known: sweepRole !== undefined,
    weSweep: weAre(sweepRole),
    weAreHub: weAre(sweepRole) || weAre(dispatchRole),
  };
}

/** Says where to find the value of the placeholder; empty without one. */
export function whereIsTheRole({ known }: HubRoles): string {
  return known ? '' : ` ${PLACEHOLDER} is the output SweepRoleArn of the stack ${HUB_STACK}; --sweep-role names it.`;
}

/** @throws UsageError if it is not the ARN of a role */
export function requireRoleArn(text: string): string {
  if (ROLE_ARN.test(text)) return text;
  throw new UsageError(
    `--sweep-role takes the ARN of a role, as the output SweepRoleArn of the stack ${HUB_STACK} has it, for example arn:aws:iam::111122223333:role/${HUB_STACK}-sweep-eu-central-1`,
  );
}
