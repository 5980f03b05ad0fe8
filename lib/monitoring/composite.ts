import { AlarmRule, CompositeAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { ALARM_SEVERITIES, type AlarmSeverity } from '../../lambdas/tables/alarms.ts';
import type { MadeAlarm } from './alarms.ts';
import { nameOf } from './naming.ts';

/** Source: CloudWatch API Reference, PutCompositeAlarm: 100 children, and a rule of 10,240 characters. */
const MAX_CHILDREN = 100;
const MAX_RULE = 10_240;

const MEANINGS: Readonly<Record<AlarmSeverity, string>> = {
  critical: 'A person must check the fleet now.',
  warning: 'A person must check the fleet in the morning.',
};

export interface PagingAlarm {
  readonly level: AlarmSeverity;
  readonly name: string;
}

/**
 * One alarm for each level, in ALARM while any alarm of that level is. CloudWatch itself notifies the fallback topic,
 * which opens and closes one incident even if no function of ours works. If a level has more alarms than a rule allows,
 * the rule is over groups of them.
 */
// oxlint-disable-next-line max-params -- one call
export function pagingAlarms(
  scope: Construct,
  made: readonly MadeAlarm[],
  fallback: ITopic,
  runbooks?: string,
): readonly PagingAlarm[] {
  return ALARM_SEVERITIES.flatMap((level) => {
    const children = made.filter(({ severity }) => severity === level);
    if (children.length === 0) return [];
    const alarm = anyOf(scope, { level, runbooks }, groupsOf(scope, { level, runbooks }, children));
    const action = new SnsAction(fallback);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    return [{ level, name: nameOf({ level }) }];
  });
}

type Child = Pick<MadeAlarm, 'name' | 'alarm'>;

interface Level {
  readonly level: AlarmSeverity;
  readonly runbooks: string | undefined;
}

function groupsOf(scope: Construct, { level, runbooks }: Level, children: readonly Child[]): readonly Child[] {
  if (children.length <= MAX_CHILDREN) return children;
  return Array.from({ length: Math.ceil(children.length / MAX_CHILDREN) }, (_, index) => {
    const disambiguator = `group-${index + 1}`;
    const group = children.slice(index * MAX_CHILDREN, (index + 1) * MAX_CHILDREN);
    return { name: nameOf({ level, disambiguator }), alarm: anyOf(scope, { level, runbooks }, group, disambiguator) };
  });
}

/** By name, which is shorter than an ARN and known before the deployment. */
function anyOf(
  scope: Construct,
  { level, runbooks }: Level,
  children: readonly Child[],
  disambiguator?: string,
): CompositeAlarm {
  const rule = children.map(({ name }) => `ALARM("${name}")`).join(' OR ');
  if (rule.length > MAX_RULE) throw new Error(`the rule of level ${level} is longer than ${MAX_RULE} characters`);
  const alarm = new CompositeAlarm(
    scope,
    ['Composite', level, ...(disambiguator === undefined ? [] : [disambiguator])].join('-'),
    {
      compositeAlarmName: nameOf({ level, disambiguator }),
      alarmDescription:
        `${MEANINGS[level]} At least one alarm of level ${level} fires; its own description says what to do.\n` +
        `First: aws cloudwatch describe-alarms --state-value ALARM --alarm-name-prefix ${nameOf({})}\nRunbook: ${runbooks === undefined ? 'certmarshal runbook alarms' : `${runbooks}/alarms/README.md`}`,
      alarmRule: AlarmRule.fromString(rule),
    },
  );
  alarm.node.addDependency(...children.map((child) => child.alarm));
  return alarm;
}
