import { AwsError } from '../../lambdas/aws/errors.ts';
import type { AwsScope } from '../../lambdas/contracts/target.ts';
import { printable } from '../../lambdas/printable.ts';
import { date } from '../../lambdas/words.ts';
import type { AccessEntry, AwsCalls } from './aws-calls.ts';
import { accessEntryFix, GROUP } from './aws-fixes.ts';
import { type Answer, type Check, failed, passed, warning } from './check.ts';
import { type HubRoles, whereIsTheRole } from './hub-roles.ts';

/** A group name without special meaning to a shell or a command line. */
const PLAIN_GROUP = /^[A-Za-z0-9][\w:.@/-]{0,199}$/;

/** Checks that the sweep role has an access entry in the EKS cluster, without using that role. */
export function accessEntryCheck(scope: AwsScope, cluster: string, aws: AwsCalls, roles: HubRoles): Check {
  const make = accessEntryFix(roles, cluster, scope.region);
  return {
    id: 'access-entry',
    title: 'the sweep has an access entry',
    object: roles.sweepRole,
    async run(signal) {
      if (!roles.known) return warning('the role of the sweep is not known here', make);
      try {
        return entryAnswer(await aws.accessEntry(scope, cluster, roles.sweepRole, signal), cluster, scope, roles);
      } catch (error) {
        if (!(error instanceof AwsError)) throw error;
        if (error.kind === 'not-found') return failed('there is no access entry', make);
        if (error.kind === 'denied')
          return warning(`it cannot be looked up as ${aws.caller.arn}: ${error.problem}`, make);
        if (error.kind === 'invalid')
          return warning(error.problem, {
            text: `A cluster whose authentication mode is CONFIG_MAP takes no access entries: its aws-auth has to map the role of the sweep to the group ${GROUP}.`,
          });
        throw error;
      }
    },
  };
}

function entryAnswer({ groups, madeAt }: AccessEntry, cluster: string, { region }: AwsScope, roles: HubRoles): Answer {
  if (groups.includes(GROUP)) {
    const since = madeAt === undefined ? '' : `, since ${date(madeAt.getTime())}`;
    return passed(`it has one, in the group ${GROUP}${since}; an entry that is older than the role lets no one in`);
  }
  const text = `Its access entry must have the group ${GROUP}.`;
  const found = `it has one, in ${groups.length === 0 ? 'no group' : `the groups ${printable(groups.join(', '), 200)}`}`;
  if (!groups.every((group) => PLAIN_GROUP.test(group))) return failed(found, { text });
  return failed(found, {
    text: `${text} As an administrator of its account:${whereIsTheRole(roles)}`,
    command: `aws eks update-access-entry --cluster-name ${cluster} --region ${region} --principal-arn ${roles.sweepRole} --kubernetes-groups ${[...groups, GROUP].join(' ')}`,
  });
}
