/**
 * What the paths of the API answer. The shapes are made from server/schemas.json and
 * docs/plan.schema.json (tests/web/types.mjs), so that a page that reads what is not there fails.
 */
import type * as Api from '../../build/web-types/schemas';

export type { Api };

/** An address whose answer is a T. */
export type Address<T> = string & { readonly answer?: T };

export type AnswerOf<P extends string> = P extends 'summary'
    ? Api.Summary
    : P extends 'programs'
      ? Api.ProgramPage
      : P extends `programs/${string}/trace`
        ? Api.Trace
        : P extends `${string}/plan`
          ? Api.PlanDocument
          : P extends `programs/${string}/compare`
            ? Api.Comparison
            : P extends 'policies'
              ? Api.PolicyList
              : P extends `programs/${string}`
                ? Api.ProgramDetail
                : P extends 'packages'
                  ? Api.PackagePage
                  : P extends `packages/${string}/searched_by`
                    ? Api.SearcherPage
                    : P extends `packages/${string}`
                      ? Api.PackageDetail
                      : P extends 'directories'
                        ? Api.DirectoryPage
                        : P extends 'findings' | `audits/${string}/findings`
                          ? Api.FindingPage
                          : P extends 'problems'
                            ? Api.ProblemPage
                            : P extends 'rules'
                              ? Api.RuleList
                              : P extends `rules/${string}`
                                ? Api.RuleDetail
                                : P extends 'criteria'
                                  ? Api.Criteria
                                  : P extends 'audits'
                                    ? Api.AuditList
                                    : P extends `audits/${string}/programs`
                                      ? Api.AuditProgramPage
                                      : P extends `audits/${string}`
                                        ? Api.Audit
                                        : P extends 'diff'
                                          ? Api.Diff
                                          : P extends 'history'
                                            ? Api.History
                                            : P extends 'jobs'
                                              ? Api.JobList
                                              : unknown;
