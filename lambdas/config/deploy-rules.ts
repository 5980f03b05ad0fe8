import { type Fleet, SELF } from './fleet.ts';
import type { RuleProblem } from './written.ts';

/** Problems that prevent the deployment of an otherwise valid fleet, each with its remedy. Pure. */
export function deployProblems({ discovery, hub }: Fleet): readonly RuleProblem[] {
  const foreign = [...new Set(discovery.flatMap(({ accounts }) => accounts))].filter(
    (account) => account !== SELF && account !== hub.account,
  );
  if (foreign.length > 0 && (hub.account === undefined || hub.region === undefined))
    return [
      {
        path: ['hub'],
        message: `write account and region, those that certmarshal is deployed to: the roles in ${foreign.slice(0, 3).join(', ')} trust its roles by name`,
      },
    ];
  if ((hub.account === undefined) !== (hub.region === undefined))
    return [{ path: ['hub'], message: 'account and region go together; write both or none' }];
  return [];
}
