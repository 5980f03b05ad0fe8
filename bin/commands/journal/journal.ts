import { type Command, Option } from 'commander';
import { type Register, repeatable, withOutput } from '../../command.ts';
import { PROCESS } from '../../io.ts';
import { type JournalSearchOptions, journalSearchCommand } from './search.ts';
import { type JournalVerifyOptions, journalVerifyCommand } from './verify.ts';

function withJournal(command: Command): Command {
  return command
    .option('--bucket <name>', 'bucket of the journal: output JournalBucketName of the stack')
    .option('--directory <directory>', 'a copy of that bucket instead, made with aws s3 sync; needs no AWS account')
    .option('--cluster <id>', 'only this cluster, by its id in the fleet');
}

export const register: Register = (journal, { program, interruption, run }) => {
  withOutput(
    withJournal(journal.command('verify'))
      .description('Shows whether any line was changed, removed, added or moved since it was written.')
      .option('--since <duration>', 'only lines that are not older than this, for example 30d; default: all')
      .option(
        '--expect <cluster=seq:hash>',
        'a line that an earlier verification printed, and that must still be there, unchanged; repeatable',
        repeatable,
      ),
    'table or json',
  )
    .addHelpText(
      'after',
      `
Nothing is written. AWS credentials and Region come from the environment, as for the AWS CLI. Keep the anchors that it
prints: with them, a later verification finds lines that were removed together with their head. docs/journal.md

Examples:
  ${program} journal verify --bucket certmarshal-journal
  ${program} journal verify --bucket certmarshal-journal --cluster berlin-prod --since 30d
  aws s3 sync s3://certmarshal-journal copy && ${program} journal verify --directory copy --output json
  ${program} journal verify --bucket certmarshal-journal --expect berlin-prod=42:9f86d081…

Exit status:
  0  every chain is unbroken
  1  a chain is broken, or something could not be read; the output says what
  2  wrong usage; nothing was verified`,
    )
    .action(
      run((options: Omit<JournalVerifyOptions, 'program'>) =>
        journalVerifyCommand({ ...options, program }, interruption('nothing is written'), PROCESS),
      ),
    );

  withOutput(
    withJournal(journal.command('search'))
      .description('Finds decisions: what was decided about a node, a request or a cluster, why, and by what evidence.')
      .option('--node <name>', 'lines about this node, and about requests for its name')
      .option('--csr <name>', 'lines about this CertificateSigningRequest')
      .addOption(new Option('--verdict <verdict>', 'lines with this verdict').choices(['approve', 'deny', 'leave']))
      .option('--hostile', 'only provably hostile requests')
      .option('--since <duration>', 'only lines that are not older than this', '30d')
      .option('--limit <count>', 'at most this many, newest first', '1000'),
    'table for people, json for programs: one line per decision; csv for a spreadsheet',
    ['json', 'csv'],
  )
    .addHelpText(
      'after',
      `
Examples:
  ${program} journal search --bucket certmarshal-journal --node worker-3 --since 30d
  ${program} journal search --bucket certmarshal-journal --hostile --output json
  ${program} journal search --directory copy --cluster berlin-prod --verdict approve --output csv > approvals.csv

Exit status:
  0  done, also when nothing was found
  1  something could not be read; the output says what
  2  wrong usage; nothing was searched`,
    )
    .action(
      run((options: Omit<JournalSearchOptions, 'program'>) =>
        journalSearchCommand({ ...options, program }, interruption('nothing is written'), PROCESS),
      ),
    );
};
