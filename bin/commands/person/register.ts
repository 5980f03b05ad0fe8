import { hostname, userInfo } from 'node:os';
import { becauseProblem, type DecidedByPerson } from '../../../lambdas/approval/person.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { type Register, repeatable, withTarget } from '../../command.ts';
import { UsageError } from '../../exit-codes.ts';
import { loadFleet } from '../../fleet.ts';
import { PROCESS } from '../../io.ts';
import { openKeyboardJournal } from '../../keyboard-journal.ts';
import { openTarget, repeatedFlags, repeatNames, repeatOptions, type TargetOptions } from '../../target.ts';
import { personCommand } from './command.ts';

interface Given extends TargetOptions {
  readonly because?: string;
  readonly yes?: boolean;
  readonly uid?: string;
  /** Only for `approve`. */
  readonly name?: readonly string[];
  readonly policy?: string;
  readonly journal?: string;
  readonly output: 'table' | 'json';
}

const ABOUT = {
  approve: `Every check is made and shown first, with the evidence that a sweep reads. If a name makes the request provably hostile,
belongs to another node, is contested or reserved, or if evidence could not be read, repeat every name that is not proven,
each with --name; else nothing is approved. A request is refused if it is hostile for another reason, for another signer,
or already decided.`,
  deny: `Every check is made and shown first, with the evidence that a sweep reads. A kubelet that was denied asks again after
32 seconds; one whose request stays pending, after 15 minutes. A request for another signer, or already decided, is refused.`,
} as const;

/** In the examples. */
const REASON = { approve: 'second NIC of worker-3, ticket 4711', deny: 'no machine of ours, ticket 4711' } as const;

/** `certmarshal approve` and `certmarshal deny`. */
export const registerPerson =
  (decision: DecidedByPerson['decision']): Register =>
  (command, { program: name, interruption, run }) => {
    withTarget(command.argument('[csr-name]', 'name of the CertificateSigningRequest'))
      .usage('[options] --because <words> <csr-name>')
      .option('--because <words>', 'your reason, 10 to 500 characters; it is written into the condition')
      .option('--yes', 'write; without it the request is shown and nothing is written')
      .option('--uid <uid>', 'only the request that you saw: its metadata.uid')
      .option('--journal <file>', 'file to which the decision is appended, one line of JSON');
    if (decision === 'approve')
      command.option('--name <name>', 'a name that is not proven, and that you vouch for; repeatable', repeatable);
    command
      .addHelpText(
        'after',
        `
${ABOUT[decision]}
The condition has your reason, and your user as the API server knows it. It is not written if the object was changed or
replaced since it was shown. You need these rights:
  ${name} rbac --no-audit --user YOU

Examples:
  ${name} ${decision} csr-q77zt --kubeconfig berlin.yaml --because '${REASON[decision]}'
  ${name} ${decision} csr-q77zt --kubeconfig berlin.yaml --because '${REASON[decision]}' --journal journal.ndjson --yes${
    decision === 'deny'
      ? ''
      : `
  ${name} approve csr-q77zt --kubeconfig berlin.yaml --because 'address moved from worker-8, ticket 4711' --name 10.0.1.24 --yes`
  }

Exit status:
  0  done: the condition is written${decision === 'deny' ? '' : ', and the signer may issue the certificate'}
  1  nothing was written (also without --yes), it is not known whether it was, or it was not journaled; the output says why
  2  wrong usage or configuration; nothing was done`,
      )
      .action(
        run(async (csr: string | undefined, options: Given) => {
          const { because, yes = false, uid, name: names = [], output } = options;
          if (csr === undefined || because === undefined) {
            // Together: commander names one, and the request last.
            const missing = [
              ...(csr === undefined ? ['the name of a request, which kubectl get csr lists'] : []),
              ...(because === undefined ? ['--because with your reason'] : []),
            ];
            return command.error(`error: missing: ${missing.join('; ')}`);
          }
          const problem = becauseProblem(because);
          if (problem !== undefined) throw new UsageError(`--because ${problem}.`);
          const journal = options.journal === undefined ? undefined : await openKeyboardJournal(options.journal);
          const fleet = await loadFleet(options.policy);
          const target = await openTarget(options, fleet);
          const asked = { csr, decision, because: because.trim(), yes, uid, names };
          const settings = {
            output,
            program: name,
            version: packageJson.version,
            repeat: repeatOptions(options) + repeatedFlags([['--journal', options.journal]]),
            repeatNames: repeatNames(options),
            localUser: `${userInfo().username} on ${hostname()}`,
            journal,
          };
          const signal = interruption('a running write is finished, no new one starts');
          return personCommand(target, fleet.policies, asked, settings, signal, PROCESS).finally(() => target.close());
        }),
      );
  };
