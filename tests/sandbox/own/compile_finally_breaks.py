# cpu: finally in finally, copied for each way out by the compiler | expected: rejected at compile
def f(a):
    for i in a:
        try:
            if i == 0: break
            if i == 1: break
            if i == 2: break
            if i == 3: break
            if i == 4: break
            if i == 5: break
            if i == 6: break
            if i == 7: break
            if i == 8: break
            if i == 9: break
            if i == 10: break
            if i == 11: break
        finally:
            for i in a:
                try:
                    if i == 0: break
                    if i == 1: break
                    if i == 2: break
                    if i == 3: break
                    if i == 4: break
                    if i == 5: break
                    if i == 6: break
                    if i == 7: break
                    if i == 8: break
                    if i == 9: break
                    if i == 10: break
                    if i == 11: break
                finally:
                    for i in a:
                        try:
                            if i == 0: break
                            if i == 1: break
                            if i == 2: break
                            if i == 3: break
                            if i == 4: break
                            if i == 5: break
                            if i == 6: break
                            if i == 7: break
                            if i == 8: break
                            if i == 9: break
                            if i == 10: break
                            if i == 11: break
                        finally:
                            for i in a:
                                try:
                                    if i == 0: break
                                    if i == 1: break
                                    if i == 2: break
                                    if i == 3: break
                                    if i == 4: break
                                    if i == 5: break
                                    if i == 6: break
                                    if i == 7: break
                                    if i == 8: break
                                    if i == 9: break
                                    if i == 10: break
                                    if i == 11: break
                                finally:
                                    for i in a:
                                        try:
                                            if i == 0: break
                                            if i == 1: break
                                            if i == 2: break
                                            if i == 3: break
                                            if i == 4: break
                                            if i == 5: break
                                            if i == 6: break
                                            if i == 7: break
                                            if i == 8: break
                                            if i == 9: break
                                            if i == 10: break
                                            if i == 11: break
                                        finally:
                                            for i in a:
                                                try:
                                                    if i == 0: break
                                                    if i == 1: break
                                                    if i == 2: break
                                                    if i == 3: break
                                                    if i == 4: break
                                                    if i == 5: break
                                                    if i == 6: break
                                                    if i == 7: break
                                                    if i == 8: break
                                                    if i == 9: break
                                                    if i == 10: break
                                                    if i == 11: break
                                                finally:
                                                    for i in a:
                                                        try:
                                                            if i == 0: break
                                                            if i == 1: break
                                                            if i == 2: break
                                                            if i == 3: break
                                                            if i == 4: break
                                                            if i == 5: break
                                                            if i == 6: break
                                                            if i == 7: break
                                                            if i == 8: break
                                                            if i == 9: break
                                                            if i == 10: break
                                                            if i == 11: break
                                                        finally:
                                                            for i in a:
                                                                try:
                                                                    if i == 0: break
                                                                    if i == 1: break
                                                                    if i == 2: break
                                                                    if i == 3: break
                                                                    if i == 4: break
                                                                    if i == 5: break
                                                                    if i == 6: break
                                                                    if i == 7: break
                                                                    if i == 8: break
                                                                    if i == 9: break
                                                                    if i == 10: break
                                                                    if i == 11: break
                                                                finally:
                                                                    for i in a:
                                                                        try:
                                                                            if i == 0: break
                                                                            if i == 1: break
                                                                            if i == 2: break
                                                                            if i == 3: break
                                                                            if i == 4: break
                                                                            if i == 5: break
                                                                            if i == 6: break
                                                                            if i == 7: break
                                                                            if i == 8: break
                                                                            if i == 9: break
                                                                            if i == 10: break
                                                                            if i == 11: break
                                                                        finally:
                                                                            a()

def handle(event, ctx):
    return 'blocked'
